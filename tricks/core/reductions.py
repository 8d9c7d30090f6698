"""Reductions within a seed, over valid rows only."""

import torch
from torch import Tensor


def mean(x: Tensor, valid: Tensor) -> Tensor:
    """Mean over the valid rows of each seed. x, valid [S, B] -> [S]; 0 for a seed without valid rows."""
    weight, count = mask_and_count(valid, x.dtype if x.is_floating_point() else torch.float32)
    return (x * weight).sum(1) / count


def mask_and_count(valid: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The valid rows as numbers, 0 or 1 [S, B], and how many they are, at least 1 [S].

    A minibatch is reduced a dozen times, so the numbers are kept with the tensor, until it is modified.
    """
    key = dtype, None if valid.is_inference() else valid._version
    known: dict[object, tuple[Tensor, Tensor]] = vars(valid).setdefault("mask_and_count", {})
    if key not in known:
        weight = valid.to(dtype)
        known[key] = weight, weight.sum(1).clamp(min=1)
    return known[key]
