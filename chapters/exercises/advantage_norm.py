"""Exercises of the chapter on advantage normalization."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise


def standardize_short(advantage: Tensor, valid: Tensor, eps: float = 1e-8) -> Tensor:
    """(A − mean)/(std + ε) over the valid rows, with the unbiased std. [S, B] -> [S, B]."""
    real = advantage[valid]
    return (advantage - real.mean()) / (real.std() + eps)


def _standardized(advantage: Tensor, valid: Tensor, centered: bool = True, less: int = 1, eps: float = 1e-8) -> Tensor:
    real = advantage[valid]
    squares = (real - real.mean()).square().sum()
    std = (squares / max(len(real) - less, 1)).sqrt()
    return (advantage - (real.mean() if centered else 0)) / (std + eps)


def _right(advantage: Tensor, valid: Tensor) -> Tensor:
    return torch.where(valid, _standardized(advantage, valid), 0)


def _variance(advantage: Tensor, valid: Tensor) -> Tensor:
    real = advantage[valid]
    squares = (real - real.mean()).square().sum()
    return torch.where(valid, (advantage - real.mean()) / (squares / max(len(real) - 1, 1) + 1e-8), 0)


def _padding_and_nan(advantage: Tensor, valid: Tensor) -> Tensor:
    real = advantage[valid]
    std = real.std() if len(real) > 1 else torch.tensor(torch.nan)
    return (advantage - real.mean()) / (std + 1e-8)


check_standardize = Exercise(
    _right,
    cases=(
        {
            "advantage": torch.tensor([1.0, 2.0, 4.0, 9.0, 777.0]),
            "valid": torch.tensor([True, True, True, True, False]),
        },
        {"advantage": torch.tensor([5.0, 5.0]), "valid": torch.tensor([True, True])},
        {"advantage": torch.tensor([5.0, 3.0]), "valid": torch.tensor([True, False])},
    ),
    mistakes={
        "rows that are not valid are padding: leave them out of the mean and of the std.": (
            lambda a, valid: torch.where(valid, _standardized(a, torch.ones_like(valid)), 0)
        ),
        "`valid` is not used. Leave padding out of the mean and the std, and return 0 for it.": (
            lambda a, valid: (a - a.mean()) / (a.std() + 1e-8)
        ),
        "0/0 is NaN: with equal advantages the std is 0, so add a small number to it.": (
            lambda a, valid: torch.where(valid, _standardized(a, valid, eps=0.0), 0)
        ),
        "the std of a single row is NaN: divide the sum of squares by n - 1, but never by less than 1.": (
            lambda a, valid: torch.where(valid, _padding_and_nan(a, valid), 0)
        ),
        "rows that are not valid should come out as 0.": lambda a, valid: _standardized(a, valid),
        "the std of a single row is NaN, and rows that are not valid should come out as 0.": _padding_and_nan,
        "NaN times 0 is still NaN: the std of a single row is NaN, so divide the sum of squares by n - 1, but never by "
        "less than 1.": (lambda a, valid: _padding_and_nan(a, valid) * valid),
        "this is the biased std: divide the sum of squares by n - 1, not by n.": (
            lambda a, valid: torch.where(valid, _standardized(a, valid, less=0), 0)
        ),
        "the scale is right, but the mean was not subtracted.": (
            lambda a, valid: torch.where(valid, _standardized(a, valid, centered=False), 0)
        ),
        "the mean is 0, but the scale was not changed: divide by the std.": (
            lambda a, valid: torch.where(valid, a - a[valid].mean(), 0)
        ),
        "you divided by the variance. Its square root is the std.": _variance,
    },
    drawn=lambda d: {
        "advantage": d.tensor(8, low=-9.0, high=9.0),
        "valid": d.flags(8, share=0.7) | (torch.arange(8) < 2),
    },
)
