"""The parts of an observation: nested spaces taken apart, and each part as numbers for a net."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from torch import Tensor

from tricks.errors import InputError

PLAIN = (Box, Discrete, MultiDiscrete, MultiBinary)
LARGEST_DTYPE = 8  # bytes of a number
SMALLEST = 3  # pixels: the shorter side of an image
SMALLEST_GRAY = 8  # the same without an axis of channels, which is easily something else, such as a stack of vectors


@dataclass(frozen=True)
class Leaf:
    """A part of an observation that is not nested: a Box, Discrete, MultiDiscrete or MultiBinary space.

    path: the keys and indices that lead to it, () if it is the whole observation. axes: those of an image, CHW, HWC or
    HW; empty for a vector.
    """

    env: str
    path: tuple[str | int, ...]
    space: gym.Space[Any]
    axes: str = ""

    @property
    def name(self) -> str:
        """How one reads it in Python: observation["goal"][0]."""
        return "observation" + "".join(f"[{key!r}]" for key in self.path)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the encoded part: [C, H, W] for an image, [D] for a vector."""
        own = self.space.shape or ()
        images = {"CHW": own, "HWC": (own[-1:] + own[:-1]), "HW": (1, *own)}
        return images.get(self.axes, (gym.spaces.flatdim(self.space),))

    @property
    def size(self) -> int:
        """D: how many numbers the encoded part has."""
        return prod(self.shape)

    @property
    def bytes(self) -> bool:
        """Whether this is an image of bytes; bool ones are, with 0 and 1."""
        return bool(self.axes) and self.space.dtype in (np.uint8, np.bool_)

    @property
    def brightest(self) -> float:
        """The largest number that a pixel can be."""
        return float(self.space.high.max()) if self.space.dtype == np.uint8 else 1.0  # type: ignore[attr-defined]

    def of(self, obs: Any) -> Any:
        """This part of an observation, or of a batch of observations."""
        for key in self.path:
            obs = obs[key]
        return obs

    def encode(self, obs: Any, rows: tuple[int, ...]) -> Tensor:
        """Rows of this part [*rows, ...] -> [*rows, *shape]: float32, or uint8 for an image of bytes.

        Discrete and MultiDiscrete parts become one-hot, and images channels-first. Raises InputError for a whole number
        out of range.
        """
        if isinstance(self.space, Discrete | MultiDiscrete):
            return self._one_hot(np.asarray(obs, dtype=np.int64).reshape(*rows, -1))
        array = np.asarray(obs, dtype=np.uint8 if self.bytes else np.float32)
        if self.axes == "HWC":
            array = np.ascontiguousarray(np.moveaxis(array.reshape(*rows, *self.space.shape), -1, -3))  # type: ignore[misc]
        return torch.from_numpy(array.reshape(*rows, *self.shape))

    def _one_hot(self, given: np.ndarray) -> Tensor:
        counts, starts = (
            np.ravel(x)  # of each component
            for x in (
                (self.space.n, self.space.start)
                if isinstance(self.space, Discrete)
                else (self.space.nvec, self.space.start)  # type: ignore[attr-defined]
            )
        )
        index = given - starts.astype(np.int64)
        if (outside := (index < 0) | (index >= counts)).any():
            at = "".join(f"[{key!r}]" for key in self.path)
            raise InputError(f"{self.env}: the observation{at} {given[outside][0]} is not in {self.space}")
        places = torch.from_numpy(index + (np.cumsum(counts) - counts).astype(np.int64))
        return torch.zeros(*given.shape[:-1], self.size, dtype=torch.float32).scatter_(-1, places, 1)


def leaves(
    env: str, space: gym.Space[Any], as_vector: bool, path: tuple[str | int, ...] = (), usable: Sequence[Any] = ()
) -> Iterator[Leaf]:
    """The parts of an observation space, in the order of Gymnasium's `flatten`.

    With `as_vector`, only uint8 images with their channels first are images. path, usable: where in a larger space this
    is, and which parts of that are made of numbers. Raises InputError, naming the part and what to do, for a space that
    has no fixed number of numbers, or none at all.
    """
    if isinstance(space, Dict | Tuple):
        inner = list(space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces))
        usable = usable if path else [key for key, part in inner if isinstance(part, (*PLAIN, Dict, Tuple))]
        for key, part in inner:
            if not isinstance(key, str | int) or (isinstance(space, Dict) and not isinstance(key, str)):
                raise InputError(f"{env} has an observation space with the key {key!r}; keys must be strings")
            yield from leaves(env, part, as_vector, (*path, key), usable)
        return
    leaf = Leaf(env, path, space, image_axes(space, as_vector))
    at = f" ({leaf.name})" if path else ""
    if not isinstance(space, PLAIN):
        rest = [key for key in usable if key != path[0]]
        how = f'leave it out with --wrap "gymnasium.wrappers:FilterObservation({rest})", or ' if rest else ""
        raise InputError(
            f"{env} has a {type(space).__name__} observation space{at}, which is not a fixed number of numbers; {how}"
            "turn it into a Box with gymnasium.wrappers.TransformObservation"
        )
    refuse_unusable(env, "observation", space, at)
    yield leaf


def refuse_unusable(env: str, role: str, space: gym.Space[Any], at: str = "") -> None:
    """Raise InputError for a space without numbers, or with numbers that no file can keep."""
    if gym.spaces.flatdim(space) == 0:
        raise InputError(f"{env} has an empty {role} space{at}, {space}")
    if space.dtype is not None and space.dtype.itemsize > LARGEST_DTYPE:
        raise InputError(f"{env}: no file can keep the {space.dtype} of its {role} space{at}; make it float64")


def image_axes(space: gym.Space[Any], as_vector: bool = False) -> str:
    """How the axes of an image lie: CHW, HWC or HW; empty if the space does not look like one of images.

    Images are uint8. With three axes they can also be bool, or floats in [0, 1]. C is smaller than H and W.
    """
    if not isinstance(space, Box):
        return ""
    shape, of_bytes = space.shape, space.dtype == np.uint8
    if len(shape) == 3 and shape[0] < min(shape[1:]) >= SMALLEST and of_bytes:
        return "CHW"
    if as_vector:
        return ""
    if len(shape) == 2:
        return "HW" if of_bytes and min(shape) >= SMALLEST_GRAY else ""
    unit = space.dtype.kind in "bf" and bool((space.low >= 0).all() and (space.high <= 1).all())
    if len(shape) != 3 or not (of_bytes or unit):
        return ""
    if shape[0] < min(shape[1:]) >= SMALLEST:
        return "CHW"
    return "HWC" if shape[2] < min(shape[:2]) >= SMALLEST else ""
