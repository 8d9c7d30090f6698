"""Exercises of the chapter on language models."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise


def group_mean(returns: Tensor, group: int) -> Tensor:
    """Aᵢ = Rᵢ − mean of the other G − 1 replies' R. returns [S, T, N] -> [S, T, N]."""
    total = returns[:, :1].unflatten(2, (-1, group))  # [S, 1, N/G, G]
    others = total.sum(3, keepdim=True) / group
    return (total - others).flatten(2).expand_as(returns)


def _advantages(returns: Tensor, usable: Tensor, itself: int = 0, masked: bool = True) -> Tensor:
    counted = usable if masked else torch.ones_like(usable)
    total, count = (returns * counted).sum(), counted.sum()
    others = (total - returns * (1 - itself)) / (count - 1 + itself).clamp(min=1)
    return torch.where(usable & (count > 1), returns - others, 0.0)


def _alone(returns: Tensor, usable: Tensor) -> Tensor:
    total, count = (returns * usable).sum(), usable.sum()
    return torch.where(usable, returns - (total - returns) / (count - 1).clamp(min=1), 0.0)


def _unmasked(returns: Tensor, usable: Tensor) -> Tensor:
    total, count = (returns * usable).sum(), usable.sum()
    others = (total - returns * usable) / (count - usable.long()).clamp(min=1)
    return torch.where((count - usable.long()) > 0, returns - others, 0.0)


check_advantages = Exercise(
    _advantages,
    cases=(
        {"returns": torch.tensor([1.0, 0.0, 0.0, 1.0]), "usable": torch.tensor([True] * 4)},
        {"returns": torch.tensor([3.0, 5.0, 1.0, 9.0]), "usable": torch.tensor([True, True, False, True])},
        {"returns": torch.tensor([3.0, 5.0]), "usable": torch.tensor([True, False])},
    ),
    mistakes={
        "each reply is in its own baseline: leave it out, and divide by one less.": (
            lambda returns, usable: _advantages(returns, usable, itself=1)
        ),
        "broken replies judge others: leave them out of the sum and of the count.": (
            lambda returns, usable: _advantages(returns, usable, masked=False)
        ),
        "a reply without usable others has nothing to be compared with: give it 0.": _alone,
        "broken replies should come out as 0.": _unmasked,
    },
    drawn=lambda d: {"returns": d.tensor(6), "usable": d.flags(6, share=0.7) | (torch.arange(6) < 2)},
)
