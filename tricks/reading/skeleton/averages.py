"""The mean over the valid rows of a seed."""

from torch import Tensor


def mean(x: Tensor, valid: Tensor) -> Tensor:
    """Mean over the valid rows of each seed. x, valid [S, B] -> [S]; 0 for a seed without valid rows."""
    return (x * valid).sum(1) / valid.sum(1).clamp(min=1)
