"""What the agent needs to know about an environment's observation and action spaces."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from torch import Tensor

from tricks.core.components import multi_categorical
from tricks.core.leaves import PLAIN, Leaf, leaves, refuse_unusable
from tricks.core.policies import Categorical, DiagonalGaussian, Family
from tricks.errors import InputError


@dataclass(frozen=True)
class Spaces:
    """An observation space as vectors, or as images if it is one of images, and an action space as a policy's family.

    Observations are Box, Discrete, MultiDiscrete or MultiBinary, or Dict and Tuple of these, nested as one likes.
    Several parts become one vector, part after part in the order of Gymnasium's `flatten`, with images channels-first.
    Actions are Box, Discrete, MultiDiscrete or MultiBinary. Raises InputError for any other space, naming the
    environment, the space and what to do.
    """

    env: str
    observation: gym.Space[Any]
    action: gym.Space[Any]
    tasks: int = 1
    """K. With more than one, the first K features of an observation say which task it belongs to, one-hot."""
    as_vector: bool = False
    """Whether only uint8 images with their channels first are images, and all others vectors."""

    def __post_init__(self) -> None:
        if not isinstance(self.action, PLAIN):
            raise InputError(
                f"{self.env} has a {type(self.action).__name__} action space; actions are Discrete, MultiDiscrete, "
                "MultiBinary or Box: turn yours into one of these with gymnasium.wrappers.TransformAction"
            )
        refuse_unusable(self.env, "action", self.action)
        if not self.leaves:
            raise InputError(f"{self.env} has an empty observation space, {self.observation}")
        if not isinstance(self.tasks, int) or self.tasks < 1:
            raise InputError(f"{self.env}: the number of tasks must be a whole number from 1 on, not {self.tasks!r}")
        if self.tasks > 1 and (self.pixels or self.tasks > self.features):
            raise InputError(
                f"{self.env}: the first {self.tasks} features of an observation must say which of {self.tasks} tasks "
                f"it belongs to, but observations are {self.observation}"
            )

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The parts of an observation, in their order."""
        return tuple(leaves(self.env, self.observation, self.as_vector))

    def part(self, leaf: Leaf) -> "Spaces":
        """The spaces of an environment that would show this part alone."""
        return replace(self, observation=leaf.space, tasks=1)

    def task(self, obs: Tensor) -> Tensor | None:
        """Which task each observation belongs to: [..., D] -> [...] int64, or None in an environment of one task."""
        return None if self.tasks == 1 else obs[..., : self.tasks].argmax(-1)

    @property
    def discrete(self) -> bool:
        """Whether an action is one choice from a few, or several such choices, and not a Box."""
        return not isinstance(self.action, Box)

    @cached_property
    def components(self) -> tuple[int, ...]:
        """The number of choices in each component of a MultiDiscrete or MultiBinary action; () for the others."""
        if isinstance(self.action, MultiDiscrete):
            return tuple(self.action.nvec.ravel().tolist())
        return (2,) * prod(self.action.shape) if isinstance(self.action, MultiBinary) else ()

    @property
    def family(self) -> Family:
        if self.components:
            return multi_categorical(self.components)
        return Categorical if self.discrete else DiagonalGaussian

    @property
    def features(self) -> int:
        """D: the length of a flattened observation."""
        return sum(leaf.size for leaf in self.leaves)

    @property
    def images(self) -> bool:
        """Whether an observation is an image or has one as a part."""
        return any(leaf.axes for leaf in self.leaves)

    @property
    def pixels(self) -> bool:
        """Whether an observation is one image alone, which stays an image [C, H, W], its channels first."""
        return len(self.leaves) == 1 and self.images

    @property
    def bytes(self) -> bool:
        """Whether it is an image of uint8."""
        return self.pixels and self.leaves[0].space.dtype == np.uint8

    @property
    def brightest(self) -> float:
        """The largest number that a pixel of it can be."""
        return self.leaves[0].brightest

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one encoded observation: [D], or [C, H, W] for pixels."""
        return self.leaves[0].shape if self.pixels else (self.features,)

    @property
    def dtype(self) -> torch.dtype:
        """The type of an encoded observation's numbers: uint8 for an image of bytes, otherwise float32."""
        return torch.uint8 if self.pixels and self.leaves[0].bytes else torch.float32

    @property
    def sizes(self) -> tuple[object, ...]:
        """What nets must fit: the observation's shape and images, and the kind and number of actions."""
        images = [(leaf.shape, place) for place, leaf in enumerate(self.leaves) if leaf.axes]
        return self.shape, images, self.discrete, self.components, self.actions

    @property
    def actions(self) -> int:
        """A: the number of discrete actions, over all components, or of action dimensions."""
        return sum(self.components) or gym.spaces.flatdim(self.action)

    @property
    def seen(self) -> list[str]:
        """A line on each image that is not one of bytes with its channels first, which goes without saying."""
        return [
            f"{leaf.name} is an image {list(leaf.space.shape or ())}"
            + f", which becomes {list(leaf.shape)}" * (leaf.axes != "CHW")
            for leaf in self.leaves
            if leaf.axes and (leaf.axes != "CHW" or leaf.space.dtype != np.uint8)
        ]

    def encode(self, obs: Any, rows: tuple[int, ...]) -> Tensor:
        """Observations [*rows, ...], nested like their space, as float32 vectors [*rows, D]; pixels stay images.

        Discrete and MultiDiscrete parts become one-hot. Raises InputError for a whole number out of range.
        """
        return self.joined([leaf.of(obs) for leaf in self.leaves], rows)

    def joined(self, given: Sequence[Any], rows: tuple[int, ...]) -> Tensor:
        """The same from a list of the parts."""
        parts = [leaf.encode(part, rows) for leaf, part in zip(self.leaves, given, strict=True)]
        return parts[0] if len(parts) == 1 else torch.cat([part.flatten(len(rows)).float() for part in parts], -1)

    def possible(self, legal: Tensor) -> Tensor:
        """Whether a mask leaves an action, in each component if there are several: [..., A] -> [...] bool."""
        parts = legal.split(self.components, -1) if self.components else [legal]
        return torch.stack([part.any(-1) for part in parts], -1).all(-1)

    def clip_share(self, action: Tensor) -> Tensor | None:
        """Share of a Box action's dimensions that `decode` clips: [..., A] -> [...]. None for other actions."""
        if not isinstance(self.action, Box):
            return None
        low, high = (
            torch.from_numpy(bound.astype(np.float32).ravel()).to(action.device)
            for bound in (self.action.low, self.action.high)
        )
        action = action.round() if self.action.dtype.kind in "iub" else action
        return ((action < low) | (action > high)).float().mean(-1)

    def decode(self, action: Tensor) -> np.ndarray:
        """Actions [*rows], [*rows, K] or [*rows, A] in the environment's format: Box ones as `within` has them."""
        array: np.ndarray = action.cpu().numpy()
        if isinstance(self.action, Discrete):
            return np.asarray(array + int(self.action.start), self.action.dtype)
        array = array.reshape(*array.shape[:-1], *(self.action.shape or ()))
        if isinstance(self.action, MultiDiscrete):
            array = array + self.action.start
        elif isinstance(self.action, Box):
            return within(self.action, array)
        return np.asarray(array, self.action.dtype)


def within(box: Box, numbers: np.ndarray) -> np.ndarray:
    """Numbers as actions in the box: [..., *shape], of its dtype, finite, and whole if it is one of integers.

    This is the one rule for what a policy asks that the box does not have. A number beyond a bound becomes the bound,
    and so does an infinite one; without a bound it becomes the largest of its dtype. NaN becomes 0, or the bound next
    to it: the environment goes on, and the seed stops at the end of the update, since then its loss is not finite.
    """
    whole = box.dtype.kind in "iub"
    largest = np.inf if whole else float(np.finfo(box.dtype).max)  # type: ignore[type-var]
    asked = np.nan_to_num(numbers.astype(float), posinf=largest, neginf=-largest).clip(-largest, largest)
    asked = np.rint(asked) if whole else asked
    with np.errstate(invalid="ignore"):  # where the nearest float to a bound is beyond it
        inside = asked.astype(box.dtype)
    return np.where(asked >= box.high, box.high, np.where(asked <= box.low, box.low, inside))
