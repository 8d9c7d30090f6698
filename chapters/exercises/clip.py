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
    enough = torch.where(advantage > 0, ratio > 1 + epsilon, ratio < 1 - epsilon)
    return torch.where(enough, 0.0, advantage)


check_slope = Exercise(
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
        "this is zero on both sides of the range. An action that has gone the wrong way must be able to come back.": (
            lambda r, a, e: torch.where((r - 1).abs() > e, 0.0, a)
        ),
        "the zeros are on the wrong side: the rows that should come back have no gradient, and those that have moved "
        "enough do.": lambda r, a, e: torch.where((r - 1).abs() > e, a - _right(r, a, e), a),
        "good and bad actions have the same zeros here. Which way should a bad one move, and where is it enough?": (
            lambda r, a, e: torch.where(r > 1 + e, 0.0, a)
        ),
        "a row with a gradient does not have the slope 1: by how much does ρA grow with ρ?": (
            lambda r, a, e: (_right(r, a, e) != 0).float()
        ),
        "this is the objective itself. By how much does it grow with the ratio?": (
            lambda r, a, e: torch.minimum(r * a, r.clamp(1 - e, 1 + e) * a)
        ),
        "nothing is clipped: this is the slope of the previous chapter's objective.": lambda r, a, e: 1 * a,
    },
    drawn=lambda d: {"ratio": d.tensor(8, low=0.2, high=3.0), "advantage": d.tensor(8), "epsilon": d.number(0.1, 0.3)},
)


check_floor = Exercise(
    bounded_below,
    cases=(
        {"clipped": torch.tensor([1.2, -2.0, -5.0, 0.4]), "advantage": torch.tensor([1.0, -1.0, -1.0, 2.0]), "c": 3.0},
        {"clipped": torch.tensor([-8.0, -1.8, 1.5]), "advantage": torch.tensor([-2.0, -2.0, 1.5]), "c": 2.0},
        {"clipped": torch.tensor([7.0, -0.5]), "advantage": torch.tensor([2.0, -0.1]), "c": 3.0},
    ),
    mistakes={
        "only rows with A < 0 have a floor. Where A > 0, c·A lies above the objective and would replace it.": (
            lambda clipped, advantage, c: torch.maximum(clipped, c * advantage)
        ),
        "this is a ceiling: it keeps the smaller number. A floor keeps the larger one.": (
            lambda clipped, advantage, c: torch.where(advantage < 0, torch.minimum(clipped, c * advantage), clipped)
        ),
        "the floor is c·A, not −c: it grows with the advantage.": (
            lambda clipped, advantage, c: torch.where(advantage < 0, clipped.clamp(min=-c), clipped)
        ),
        "this puts every bad row on the floor. Those above it keep their objective, and with it their gradient.": (
            lambda clipped, advantage, c: torch.where(advantage < 0, c * advantage, clipped)
        ),
        "these are the good rows, which the clip has already limited. The open end is where A < 0.": (
            lambda clipped, advantage, c: torch.where(advantage > 0, torch.minimum(clipped, c * advantage), clipped)
        ),
    },
    drawn=lambda d: {
        "clipped": (advantage := d.tensor(8)) * d.tensor(8, low=0.1, high=9.0),
        "advantage": advantage,
        "c": d.number(1.5, 4.0),
    },
    gradients=("clipped",),
)
