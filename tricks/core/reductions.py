"""Reductions within a seed, over valid rows only."""

import torch
from torch import Tensor

from tricks.fast.dispatch import faster


@faster("rows")
def mean(x: Tensor, valid: Tensor) -> Tensor:
    """Mean over the valid rows of each seed. x, valid [S, B] -> [S]; 0 for a seed without valid rows."""
    weight = valid.to(x.dtype if x.is_floating_point() else torch.float32)
    return (x * weight).sum(1) / weight.sum(1).clamp(min=1)
