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


def _over_everything(advantage: Tensor, valid: Tensor) -> Tensor:
    return torch.where(valid, _standardized(advantage, torch.ones_like(valid)), 0)


def _without_epsilon(advantage: Tensor, valid: Tensor) -> Tensor:
    return torch.where(valid, _standardized(advantage, valid, eps=0.0), 0)


def _torch_std(advantage: Tensor, valid: Tensor) -> Tensor:
    real = advantage[valid]
    std = real.std() if len(real) > 1 else torch.tensor(torch.nan)
    return torch.where(valid, (advantage - real.mean()) / (std + 1e-8), 0)


def _biased(advantage: Tensor, valid: Tensor) -> Tensor:
    return torch.where(valid, _standardized(advantage, valid, less=0), 0)


def _not_centered(advantage: Tensor, valid: Tensor) -> Tensor:
    return torch.where(valid, _standardized(advantage, valid, centered=False), 0)


def _only_centered(advantage: Tensor, valid: Tensor) -> Tensor:
    return torch.where(valid, advantage - advantage[valid].mean(), 0)


def _variance(advantage: Tensor, valid: Tensor) -> Tensor:
    real = advantage[valid]
    squares = (real - real.mean()).square().sum()
    return torch.where(valid, (advantage - real.mean()) / (squares / max(len(real) - 1, 1) + 1e-8), 0)


def _padding(advantage: Tensor, valid: Tensor) -> Tensor:
    return _standardized(advantage, valid)


def _padding_and_nan(advantage: Tensor, valid: Tensor) -> Tensor:
    real = advantage[valid]
    std = real.std() if len(real) > 1 else torch.tensor(torch.nan)
    return (advantage - real.mean()) / (std + 1e-8)


def _nan_times_zero(advantage: Tensor, valid: Tensor) -> Tensor:
    return _padding_and_nan(advantage, valid) * valid


def _unmasked(advantage: Tensor, valid: Tensor) -> Tensor:
    return (advantage - advantage.mean()) / (advantage.std() + 1e-8)


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
        "rows that are not valid are padding: leave them out of the mean and of the std.": _over_everything,
        "`valid` is not used. Leave padding out of the mean and the std, and return 0 for it.": _unmasked,
        "0/0 is NaN: with equal advantages the std is 0, so add a small number to it.": _without_epsilon,
        "the std of a single row is NaN: divide the sum of squares by n - 1, but never by less than 1.": _torch_std,
        "rows that are not valid should come out as 0.": _padding,
        "the std of a single row is NaN, and rows that are not valid should come out as 0.": _padding_and_nan,
        "NaN times 0 is still NaN: the std of a single row is NaN, so divide the sum of squares by n - 1, but never by "
        "less than 1.": _nan_times_zero,
        "this is the biased std: divide the sum of squares by n - 1, not by n.": _biased,
        "the scale is right, but the mean was not subtracted.": _not_centered,
        "the mean is 0, but the scale was not changed: divide by the std.": _only_centered,
        "you divided by the variance. Its square root is the std.": _variance,
    },
    drawn=lambda d: {
        "advantage": d.tensor(8, low=-9.0, high=9.0),
        "valid": d.flags(8, share=0.7) | (torch.arange(8) < 2),
    },
)
