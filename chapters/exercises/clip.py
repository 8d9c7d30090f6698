"""Exercises of the chapter on the clip."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.dual_clip import bounded_below


def short_surrogate(ratio: Tensor, advantage: Tensor, clip_range: Tensor) -> Tensor:
    """The clipped surrogate. ratio, advantage [S, B], clip_range ε [S] -> [S, B]."""
    low, high = (1 - clip_range).unsqueeze(1), (1 + clip_range).unsqueeze(1)
    return ratio.clamp(low, high) * advantage


def _right(ratio: Tensor, advantage: Tensor, epsilon: float) -> Tensor:
    return torch.minimum(ratio * advantage, ratio.clamp(1 - epsilon, 1 + epsilon) * advantage)


def _no_min(ratio: Tensor, advantage: Tensor, epsilon: float) -> Tensor:
    return ratio.clamp(1 - epsilon, 1 + epsilon) * advantage


def _max(ratio: Tensor, advantage: Tensor, epsilon: float) -> Tensor:
    return torch.maximum(ratio * advantage, ratio.clamp(1 - epsilon, 1 + epsilon) * advantage)


def _smaller_ratio(ratio: Tensor, advantage: Tensor, epsilon: float) -> Tensor:
    return torch.minimum(ratio, ratio.clamp(1 - epsilon, 1 + epsilon)) * advantage


def _clipped_product(ratio: Tensor, advantage: Tensor, epsilon: float) -> Tensor:
    return torch.minimum(ratio * advantage, (ratio * advantage).clamp(1 - epsilon, 1 + epsilon))


def _unclipped(ratio: Tensor, advantage: Tensor, epsilon: float) -> Tensor:
    return ratio * advantage


def _around_zero(ratio: Tensor, advantage: Tensor, epsilon: float) -> Tensor:
    return torch.minimum(ratio * advantage, ratio.clamp(-epsilon, epsilon) * advantage)


def _loss(ratio: Tensor, advantage: Tensor, epsilon: float) -> Tensor:
    return -_right(ratio, advantage, epsilon)


check_surrogate = Exercise(
    _right,
    cases=(
        {
            "ratio": torch.tensor([1.5, 0.5, 1.5, 0.5]),
            "advantage": torch.tensor([1.0, 1.0, -1.0, -1.0]),
            "epsilon": 0.2,
        },
        {"ratio": torch.tensor([1.1, 0.95]), "advantage": torch.tensor([2.0, -3.0]), "epsilon": 0.2},
        {"ratio": torch.tensor([1.15, 4.0, 0.1]), "advantage": torch.tensor([1.0, -2.0, 3.0]), "epsilon": 0.1},
    ),
    mistakes={
        "the minimum is missing. An action that has gone the wrong way must keep its gradient to come back.": _no_min,
        "this is the larger of the two. Take the smaller one: the objective must never promise too much.": _max,
        "take the minimum of the two products, not of the two ratios: a negative advantage reverses their order.": (
            _smaller_ratio
        ),
        "clip the ratio first, then multiply it by the advantage. This clips the product.": _clipped_product,
        "the sign is wrong: this is a loss, to be minimized, and the objective is to be maximized.": _loss,
        "nothing is clipped: this is the objective of the previous chapter.": _unclipped,
        "the range is around 1, not around 0: a ratio of 1 means that the policy has not moved.": _around_zero,
    },
    drawn=lambda d: {
        "ratio": d.tensor(8, low=0.2, high=3.0),
        "advantage": d.tensor(8),
        "epsilon": d.number(0.1, 0.3),
    },
    gradients=("ratio",),
)


def _floored(clipped: Tensor, advantage: Tensor, c: float) -> Tensor:
    return bounded_below(clipped, advantage, c)


def _floor_for_all(clipped: Tensor, advantage: Tensor, c: float) -> Tensor:
    return torch.maximum(clipped, c * advantage)


def _ceiling(clipped: Tensor, advantage: Tensor, c: float) -> Tensor:
    return torch.where(advantage < 0, torch.minimum(clipped, c * advantage), clipped)


def _same_floor(clipped: Tensor, advantage: Tensor, c: float) -> Tensor:
    return torch.where(advantage < 0, clipped.clamp(min=-c), clipped)


def _only_floor(clipped: Tensor, advantage: Tensor, c: float) -> Tensor:
    return torch.where(advantage < 0, c * advantage, clipped)


def _good_rows(clipped: Tensor, advantage: Tensor, c: float) -> Tensor:
    return torch.where(advantage > 0, torch.minimum(clipped, c * advantage), clipped)


check_floor = Exercise(
    _floored,
    cases=(
        {
            "clipped": torch.tensor([1.2, -2.0, -5.0, 0.4]),
            "advantage": torch.tensor([1.0, -1.0, -1.0, 2.0]),
            "c": 3.0,
        },
        {"clipped": torch.tensor([-8.0, -1.8, 1.5]), "advantage": torch.tensor([-2.0, -2.0, 1.5]), "c": 2.0},
        {"clipped": torch.tensor([7.0, -0.5]), "advantage": torch.tensor([2.0, -0.1]), "c": 3.0},
    ),
    mistakes={
        "only rows with A < 0 have a floor. Where A > 0, c·A lies above the objective and would replace it.": (
            _floor_for_all
        ),
        "this is a ceiling: it keeps the smaller number. A floor keeps the larger one.": _ceiling,
        "the floor is c·A, not −c: it grows with the advantage.": _same_floor,
        "this puts every bad row on the floor. Those above it keep their objective, and with it their gradient.": (
            _only_floor
        ),
        "these are the good rows, which the clip has already limited. The open end is where A < 0.": _good_rows,
    },
    drawn=lambda d: {
        "clipped": (advantage := d.tensor(8)) * d.tensor(8, low=0.1, high=9.0),
        "advantage": advantage,
        "c": d.number(1.5, 4.0),
    },
    gradients=("clipped",),
)
