"""Numbers that may differ from seed to seed, so that agents with different numbers can train in one stack."""

from functools import lru_cache

import torch
from torch import Tensor

from tricks.config import PerSeed


def per_seed(number: PerSeed, like: Tensor) -> float | Tensor:
    """A number as a factor of `like` [S, ...]: itself if all seeds share it, else one for each seed, [S, 1, ...]."""
    return _column(number, like.dtype, like.device, like.dim()) if isinstance(number, tuple) else number


@lru_cache(64)
def _column(numbers: tuple[float, ...], dtype: torch.dtype, device: torch.device, dims: int) -> Tensor:
    return torch.tensor(numbers, dtype=dtype, device=device).view(-1, *(1,) * (dims - 1))
