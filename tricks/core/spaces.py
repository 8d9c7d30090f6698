"""What the agent needs to know about an environment's observation and action spaces."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from tricks.core.policies import Categorical, DiagonalGaussian, Family
from tricks.errors import InputError


@dataclass(frozen=True)
class Spaces:
    """A Box or Discrete observation space and a Discrete or Box action space, as vectors; images stay images.

    Raises InputError for any other space, naming the environment, the space and what is supported.
    """

    env: str
    observation: gym.Space[Any]
    action: gym.Space[Any]
    tasks: int = 1
    """K. With more than one, the first K features of an observation say which task it belongs to, one-hot."""

    def __post_init__(self) -> None:
        for role, space in (("observation", self.observation), ("action", self.action)):
            if not isinstance(space, gym.spaces.Box | gym.spaces.Discrete):
                raise InputError(
                    f"{self.env} has a {type(space).__name__} {role} space; only Box and Discrete are supported"
                )
            if gym.spaces.flatdim(space) == 0:
                raise InputError(f"{self.env} has an empty {role} space, {space}")
        if not isinstance(self.tasks, int) or self.tasks < 1:
            raise InputError(f"{self.env}: the number of tasks must be a whole number from 1 on, not {self.tasks!r}")
        if self.tasks > 1 and (self.pixels or self.tasks > self.features):
            raise InputError(
                f"{self.env}: the first {self.tasks} features of an observation must say which of {self.tasks} tasks "
                f"it belongs to, but observations are {self.observation}"
            )

    def task(self, obs: Tensor) -> Tensor | None:
        """Which task each observation belongs to: [..., D] -> [...] int64, or None in an environment of one task."""
        return None if self.tasks == 1 else obs[..., : self.tasks].argmax(-1)

    @property
    def discrete(self) -> bool:
        return isinstance(self.action, gym.spaces.Discrete)

    @property
    def family(self) -> Family:
        return Categorical if self.discrete else DiagonalGaussian

    @property
    def features(self) -> int:
        """D: the length of a flattened observation."""
        return gym.spaces.flatdim(self.observation)

    @cached_property
    def pixels(self) -> bool:
        """Whether an observation is a channels-first uint8 image [C, H, W], with C smaller than H and W.

        Channels-last images, and byte arrays that aren't images, are treated as vectors.
        """
        space = self.observation
        if not isinstance(space, gym.spaces.Box) or space.dtype != np.uint8 or len(space.shape) != 3:
            return False
        channels, height, width = space.shape
        return channels < min(height, width)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one encoded observation: [D], or [C, H, W] for pixels."""
        return tuple(self.observation.shape or ()) if self.pixels else (self.features,)

    @property
    def sizes(self) -> tuple[object, ...]:
        """What nets must fit: the observation's shape, and the kind and number of actions."""
        return self.shape, self.discrete, self.actions

    @property
    def actions(self) -> int:
        """A: the number of discrete actions or of action dimensions."""
        return gym.spaces.flatdim(self.action)

    def encode(self, obs: np.ndarray, rows: tuple[int, ...]) -> Tensor:
        """Observations [*rows, ...] as float32 vectors [*rows, D]; Discrete ones become one-hot, pixels stay uint8.

        Raises InputError for a Discrete observation out of range.
        """
        if self.pixels:
            return torch.from_numpy(np.asarray(obs, dtype=np.uint8).reshape(*rows, *self.shape))
        if isinstance(self.observation, gym.spaces.Discrete):
            index = torch.from_numpy(np.asarray(obs, dtype=np.int64).reshape(rows)) - int(self.observation.start)
            if (outside := (index < 0) | (index >= self.features)).any():
                bad = int(index[outside][0]) + int(self.observation.start)
                raise InputError(f"{self.env}: the observation {bad} is not in {self.observation}")
            return torch.nn.functional.one_hot(index, self.features).float()
        return torch.from_numpy(np.asarray(obs, dtype=np.float32).reshape(*rows, self.features))

    def clip_share(self, action: Tensor) -> Tensor | None:
        """Share of a Box action's dimensions that `decode` clips: [..., A] -> [...]. None for Discrete actions."""
        if isinstance(self.action, gym.spaces.Discrete):
            return None
        assert isinstance(self.action, gym.spaces.Box)
        low, high = (
            torch.from_numpy(bound.astype(np.float32).ravel()).to(action.device)
            for bound in (self.action.low, self.action.high)
        )
        action = action.round() if np.issubdtype(self.action.dtype, np.integer) else action
        return ((action < low) | (action > high)).float().mean(-1)

    def decode(self, action: Tensor) -> np.ndarray:
        """Actions [*rows] or [*rows, A] in the environment's format: Box actions are clipped, integers rounded."""
        array: np.ndarray = action.cpu().numpy()
        if isinstance(self.action, gym.spaces.Discrete):
            return array + int(self.action.start)
        assert isinstance(self.action, gym.spaces.Box)
        array = np.nan_to_num(array).reshape(*array.shape[:-1], *(self.action.shape or ()))  # NaN shows in the loss
        array = np.rint(array) if np.issubdtype(self.action.dtype, np.integer) else array
        return np.asarray(array.clip(self.action.low, self.action.high), self.action.dtype)


def to_plain(space: gym.Space[Any]) -> dict[str, Any]:
    """A Box or Discrete space as plain values for JSON; equal bounds become one number."""
    if isinstance(space, gym.spaces.Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    assert isinstance(space, gym.spaces.Box)
    bounds = {"low": _plain_bound(space.low), "high": _plain_bound(space.high)}
    return {"kind": "Box", "shape": list(space.shape), "dtype": str(space.dtype), **bounds}


def from_plain(plain: dict[str, Any]) -> gym.Space[Any]:
    """The inverse of `to_plain`. Raises KeyError, TypeError or ValueError if the description is invalid."""
    if plain["kind"] == "Discrete":
        return gym.spaces.Discrete(plain["n"], start=plain["start"])
    if plain["kind"] != "Box":
        raise ValueError(f"unknown space {plain['kind']!r}")
    dtype, shape = np.dtype(plain["dtype"]), tuple(plain["shape"])
    low, high = (_bound(plain[name], shape, dtype) for name in ("low", "high"))
    return gym.spaces.Box(low, high, shape, dtype.type)


def _plain_bound(bound: np.ndarray) -> list[float | str]:
    """A bound's numbers in row order, or just one if they are all equal; infinities are strings, as JSON has none."""
    numbers = bound.flatten().tolist()
    numbers = numbers[:1] if len(set(numbers)) == 1 else numbers
    return [str(x) if np.isinf(x) else x for x in numbers]


def _bound(plain: list[float | str], shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    numbers = np.array([dtype.type(x) for x in plain], dtype)
    return np.full(shape, numbers[0]) if len(plain) == 1 else numbers.reshape(shape)
