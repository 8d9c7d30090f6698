"""Exercises of the chapter on GRPO."""

from math import comb

from torch import Tensor

from chapters.book.exercise import Exercise


def deviations(returns: Tensor, group: int, eps: float = 1e-4) -> Tensor:
    """(Rᵢ − mean)/(σ + ε), per group. returns [S, T, N] -> [S, T, N]."""
    total = returns[:, :1].unflatten(2, (-1, group))  # [S, 1, N/G, G]
    centered = total - total.mean((2, 3), keepdim=True)
    return (centered / (centered.std(3, keepdim=True) + eps)).flatten(2).expand_as(returns)


def _weight(p: float, group: int, less: int = 1, centered: bool = False, ways: bool = True) -> float:
    """Σₖ P(k of G right)·k(G − k)/G²/σₖ·... with σₖ² = k(G − k)/G/(G − less)."""
    total = 0.0
    for k in range(1, group):
        chance = (comb(group, k) if ways else 1) * p**k * (1 - p) ** (group - k)
        share = k / group
        deviation = 1.0 if centered else (share * (1 - share) * group / (group - less)) ** 0.5
        total += chance * share * (1 - share) / deviation
    return total


check_weights = Exercise(
    _weight,
    cases=({"p": 0.5, "group": 2}, {"p": 0.5, "group": 8}, {"p": 0.05, "group": 8}, {"p": 0.95, "group": 4}),
    mistakes={
        "this is the biased deviation: divide the sum of squares by G − 1.": lambda p, group: _weight(p, group, less=0),
        "this is the weight without the division.": lambda p, group: _weight(p, group, centered=True),
        "that is what many replies would give; with G of them, groups can agree, and σ varies.": (
            lambda p, group: (p * (1 - p)) ** 0.5
        ),
        "there are several ways for k of G replies to be right: use comb(G, k).": (
            lambda p, group: _weight(p, group, ways=False)
        ),
    },
    drawn=lambda d: {"p": d.number(0.1, 0.9), "group": d.whole(3, 9)},
)
