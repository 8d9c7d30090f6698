"""Exercises of the chapter on seeds as an axis."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise


def standardize_all(advantage: Tensor, valid: Tensor, eps: float = 1e-8) -> Tensor:
    """(A − mean)/(std + ε) over the valid rows, with the unbiased std. [S, B] -> [S, B]."""
    known = advantage[valid]
    return (advantage - known.mean()) / (known.std() + eps)


def _right(x: Tensor, valid: Tensor) -> Tensor:
    return (x * valid).sum(1) / valid.sum(1).clamp(min=1)


def _over_seeds(x: Tensor, valid: Tensor) -> Tensor:
    return (x * valid).sum(0) / valid.sum(0).clamp(min=1)


def _everything(x: Tensor, valid: Tensor) -> Tensor:
    return (x * valid).sum() / valid.sum()


def _everyones_count(x: Tensor, valid: Tensor) -> Tensor:
    return (x * valid).sum(1) / valid.sum()


def _invalid_too(x: Tensor, valid: Tensor) -> Tensor:
    return x.mean(1)


def _all_rows(x: Tensor, valid: Tensor) -> Tensor:
    return (x * valid).mean(1)


def _nan(x: Tensor, valid: Tensor) -> Tensor:
    return (x * valid).sum(1) / valid.sum(1)


def _kept(x: Tensor, valid: Tensor) -> Tensor:
    return _right(x, valid).unsqueeze(1)


check_mean = Exercise(
    _right,
    cases=(
        {
            "x": torch.tensor([[1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0]]),
            "valid": torch.tensor([[True, True, False, True], [True, True, False, False]]),
        },
        {
            "x": torch.tensor([[5.0, 7.0], [1.0, 3.0], [2.0, 2.0]]),
            "valid": torch.tensor([[True, True], [False, False], [False, True]]),
        },
    ),
    mistakes={
        "this is the mean over seeds, one number per row of the batch. Reduce the last axis, and keep S.": _over_seeds,
        "this is one number for all seeds. Each seed needs its own, or they are no longer independent.": _everything,
        "each seed's sum is divided by the number of all seeds' rows. Count within the seed.": _everyones_count,
        "rows that are not valid are padding. They must not count.": _invalid_too,
        "the sum is right, but it is divided by the number of all rows, padding included.": _all_rows,
        "a seed without valid rows gives 0/0, which is NaN. It should give 0.": _nan,
        "the axis of rows is still there, with length 1. The loss is one number per seed: [S].": _kept,
    },
    drawn=lambda d: {"x": d.tensor(3, 5), "valid": d.flags(3, 5, share=0.5)},
    gradients=("x",),
)
