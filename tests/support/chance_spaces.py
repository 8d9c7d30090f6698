"""Spaces by chance, for properties that all of them have."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from hypothesis import strategies as st
from support.probes import BOOL

FLOATS, WHOLE = (np.float16, np.float32, np.float64), (np.int8, np.int16, np.int32, np.int64)


def boxes(bound: float, shapes: st.SearchStrategy[tuple[int, ...]] | None = None) -> st.SearchStrategy[Box]:
    """Boxes of every dtype, with finite bounds up to `bound`, or infinite ones."""

    @st.composite
    def box(draw: st.DrawFn) -> Box:
        shape = draw(st.lists(st.integers(1, 4), max_size=3).map(tuple) if shapes is None else shapes)
        dtype: Any = draw(st.sampled_from([*FLOATS, *WHOLE, *(np.uint8, np.uint16, np.uint32, np.uint64), BOOL]))
        if dtype is BOOL:
            return Box(0, 1, shape, dtype)
        number = np.finfo if dtype in FLOATS else np.iinfo
        limit = min(bound, float(number(dtype).max) / 2)
        rng = np.random.default_rng(draw(st.integers(0, 99)))
        low, high = np.sort(rng.uniform(-limit, limit, (2, *shape)), 0) if draw(st.booleans()) else (-limit, limit)
        low = np.maximum(low, float(number(dtype).min) / 2)
        low, high = (np.broadcast_to(np.asarray(x, dtype), shape).copy() for x in (low, np.maximum(high, low)))
        if dtype in FLOATS and draw(st.booleans()):
            low[...] = -np.inf
        if dtype in FLOATS and draw(st.booleans()):
            high[...] = np.inf
        return Box(low, high, shape, dtype)

    return box()


def discrete() -> st.SearchStrategy[gym.Space[Any]]:
    """Discrete, MultiDiscrete and MultiBinary spaces, with starts."""
    start, whole = st.integers(-9, 9), st.sampled_from(WHOLE)
    one = st.builds(lambda n, start, dtype: Discrete(n, start=start, dtype=dtype), st.integers(1, 5), start, whole)
    counts = st.lists(st.integers(1, 4), min_size=1, max_size=3)
    many = st.builds(lambda n, start, dtype: MultiDiscrete(n, dtype, start=[start] * len(n)), counts, start, whole)
    square = st.just(MultiDiscrete(np.array([[2, 3], [1, 2]])))
    binary = st.one_of(st.integers(1, 4), st.lists(st.integers(1, 2), min_size=2, max_size=2)).map(MultiBinary)
    return st.one_of(one, many, square, binary)


def nested(bound: float = 1e30) -> st.SearchStrategy[gym.Space[Any]]:
    """Spaces of every kind, in Dicts and Tuples of Dicts and Tuples."""
    plain = st.one_of(boxes(bound), discrete())

    def inside(part: st.SearchStrategy[gym.Space[Any]]) -> st.SearchStrategy[gym.Space[Any]]:
        parts = st.lists(part, min_size=1, max_size=3)
        return st.one_of(parts.map(named), parts.map(Tuple))

    return st.recursive(plain, inside, max_leaves=5)


def named(parts: Sequence[gym.Space[Any]]) -> Dict:
    """A Dict of these, whose order is not that of its keys."""
    return Dict([(key, part) for key, part in zip("zab", parts, strict=False)])
