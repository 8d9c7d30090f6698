"""Nested observations as the reference sees them: one vector, part after part, from Gymnasium's documentation."""

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space, Tuple
from support.restless import SHOWN
from torch import Tensor


def parts(space: Space[Any], obs: Any) -> Iterator[np.ndarray]:
    """Each part as numbers: whole numbers one-hot, images of bytes with their channels first."""
    if isinstance(space, Dict):
        for name in sorted(space.spaces):
            yield from parts(space[name], obs[name])
    elif isinstance(space, Tuple):
        for inner, own in zip(space.spaces, obs, strict=True):
            yield from parts(inner, own)
    elif isinstance(space, Discrete):
        yield np.array([float(obs == space.start + k) for k in range(space.n)])
    elif isinstance(space, MultiDiscrete):
        yield np.array([float(obs[i] == k) for i, count in enumerate(space.nvec) for k in range(count)])
    else:
        picture = isinstance(space, Box) and len(space.shape) == 3
        yield np.array(obs, dtype=float).transpose(2, 0, 1) if picture else np.array(obs, dtype=float).ravel()


def flat(space: Space[Any], obs: Any) -> np.ndarray:
    return np.concatenate([part.ravel() for part in parts(space, obs)])


def shown(seen: Tensor, space: Space[Any]) -> np.ndarray:
    """An observation in float64; a nested one is looked up in what the environment showed, and made a vector anew."""
    return flat(space, SHOWN[float(seen[0])]) if isinstance(space, Dict) else seen.double().numpy()


def pictures(space: Space[Any]) -> list[tuple[int, tuple[int, ...]]]:
    """Where in that vector each image begins, and its shape [C, H, W]."""
    found = [part.shape for part in parts(space, space.sample())]
    starts = np.cumsum([0, *map(prod, found)]).tolist()
    return [(start, shape) for start, shape in zip(starts, found, strict=False) if len(shape) == 3]
