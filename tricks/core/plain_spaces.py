"""Spaces as plain values for JSON, and back."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple


def to_plain(space: gym.Space[Any]) -> dict[str, Any]:
    """A space that `Spaces` accepts, as plain values; equal bounds become one number. The order of a Dict is kept."""
    if isinstance(space, Dict):
        return {"kind": "Dict", "spaces": [[key, to_plain(part)] for key, part in space.spaces.items()]}
    if isinstance(space, Tuple):
        return {"kind": "Tuple", "spaces": [to_plain(part) for part in space.spaces]}
    if isinstance(space, Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start), "dtype": space.dtype.name}
    if isinstance(space, MultiDiscrete):
        counts = {"nvec": space.nvec.ravel().tolist(), "start": space.start.ravel().tolist()}
        return {"kind": "MultiDiscrete", "shape": list(space.shape), "dtype": space.dtype.name, **counts}
    if isinstance(space, MultiBinary):
        return {"kind": "MultiBinary", "shape": list(space.shape)}
    assert isinstance(space, Box)
    bounds = {"low": _plain_bound(space.low), "high": _plain_bound(space.high)}
    return {"kind": "Box", "shape": list(space.shape), "dtype": space.dtype.name, **bounds}


def from_plain(plain: dict[str, Any]) -> gym.Space[Any]:
    """The inverse of `to_plain`. Raises KeyError, TypeError or ValueError if the description is invalid."""
    kind = plain["kind"]
    if kind == "Dict":
        return Dict([(key, from_plain(part)) for key, part in plain["spaces"]])
    if kind == "Tuple":
        return Tuple([from_plain(part) for part in plain["spaces"]])
    dtype: Any = np.dtype(plain.get("dtype", "int64")).type
    if kind == "Discrete":
        return Discrete(plain["n"], start=plain["start"], dtype=dtype)
    if kind not in ("MultiBinary", "MultiDiscrete", "Box"):
        raise ValueError(f"unknown space {kind!r}")
    shape = tuple(plain["shape"])
    if kind == "MultiBinary":
        return MultiBinary(shape if len(shape) != 1 else shape[0])
    if kind == "MultiDiscrete":
        nvec, start = (np.array(plain[name], dtype).reshape(shape) for name in ("nvec", "start"))
        return MultiDiscrete(nvec, dtype, start=start)
    low, high = (_bound(plain[name], shape, np.dtype(dtype)) for name in ("low", "high"))
    return Box(low, high, shape, dtype)


def _plain_bound(bound: np.ndarray) -> list[float | str]:
    """A bound's numbers in row order, or just one if they are all equal; infinities are strings, as JSON has none."""
    numbers = bound.astype(np.uint8 if bound.dtype == np.bool_ else bound.dtype).flatten().tolist()
    numbers = numbers[:1] if len(set(numbers)) == 1 else numbers
    return [str(x) if np.isinf(x) else x for x in numbers]


def _bound(plain: list[float | str], shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    numbers = np.array([dtype.type(x) for x in plain], dtype)
    return np.full(shape, numbers[0]) if len(plain) == 1 else numbers.reshape(shape)
