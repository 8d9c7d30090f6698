"""Numbers of each seed: those of a config, and random ones, from one independent stream per seed, purpose, and update.

So adding a seed, switching a trick or playing a longer episode never changes the numbers of another.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from tricks.config import PerSeed

Index = int | Sequence[int]  # the same for all seeds, or one for each
PURPOSES = ("init", "env", "action", "minibatch", "evaluation", "auxiliary", "policy buffer", "value buffer", "globals")


def stream(seed: int, purpose: str, *index: int) -> np.random.Generator:
    """The generator for one seed and purpose, and for one index within it, such as (update, block)."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(PURPOSES.index(purpose), *index)))


def draw(seeds: Sequence[int], purpose: str, *index: Index, by: Callable[[np.random.Generator], np.ndarray]) -> Tensor:
    """One draw from each seed's own stream, stacked [S, ...]; `by` takes the generator."""
    places = [[i] * len(seeds) if isinstance(i, int) else i for i in index]
    return torch.from_numpy(np.stack([by(stream(s, purpose, *at)) for s, *at in zip(seeds, *places, strict=True)]))


def later(counts: Sequence[int], by: int = 1) -> tuple[int, ...]:
    """The counts of all seeds, each that much higher."""
    return tuple(count + by for count in counts)


def per_seed(number: PerSeed, like: Tensor) -> float | Tensor:
    """A number as a factor of `like` [S, ...]: itself if all seeds share it, else one for each seed, [S, 1, ...]."""
    return _column(number, like.dtype, like.device, like.dim()) if isinstance(number, tuple) else number


@lru_cache(64)
def _column(numbers: tuple[float, ...], dtype: torch.dtype, device: torch.device, dims: int) -> Tensor:
    return torch.tensor(numbers, dtype=dtype, device=device).view(-1, *(1,) * (dims - 1))
