"""Reductions within a seed that count only the rows that are experience."""

from torch import Tensor


def mean(x: Tensor, valid: Tensor) -> Tensor:
    """Mean over the valid rows of each seed. x, valid [S, B] -> [S]; 0 where a seed has no valid row."""
    return (x * valid).sum(1) / valid.sum(1).clamp(min=1)
