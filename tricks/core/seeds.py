"""Random numbers: one independent stream per seed and purpose, so that nothing shifts anything else.

A stream is named by its seed, its purpose and the update that asks for it. Adding a seed, switching a trick or
playing a longer episode therefore never moves the numbers that another seed, purpose or update draws.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

PURPOSES = ("init", "env", "action", "minibatch", "evaluation", "auxiliary", "policy buffer", "value buffer")


def stream(seed: int, purpose: str, *index: int) -> np.random.Generator:
    """The generator of one seed for one purpose, and within it for one place, such as (update, block)."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(PURPOSES.index(purpose), *index)))


def draw(seeds: Sequence[int], purpose: str, *index: int, by: Callable[[np.random.Generator], np.ndarray]) -> Tensor:
    """One draw per seed from its own stream, stacked: [S, ...]; `by` takes the generator."""
    return torch.from_numpy(np.stack([by(stream(seed, purpose, *index)) for seed in seeds]))
