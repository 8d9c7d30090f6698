"""What the agent needs to know of an environment's observation and action spaces."""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from tricks.core.errors import InputError
from tricks.core.policies import Categorical, DiagonalGaussian, Family


@dataclass(frozen=True)
class Spaces:
    """A Box or Discrete observation space and a Discrete or Box action space, seen as vectors.

    Raises InputError for any other space, naming the environment, the space and what is supported.
    """

    env: str
    observation: gym.Space
    action: gym.Space

    def __post_init__(self) -> None:
        for role, space in (("observation", self.observation), ("action", self.action)):
            if not isinstance(space, gym.spaces.Box | gym.spaces.Discrete):
                raise InputError(
                    f"{self.env} has a {type(space).__name__} {role} space; supported are Box and Discrete"
                )

    @property
    def discrete(self) -> bool:
        return isinstance(self.action, gym.spaces.Discrete)

    @property
    def pixels(self) -> bool:
        """Whether an observation is an image: a Box [C, H, W] of uint8."""
        box = self.observation
        return isinstance(box, gym.spaces.Box) and box.dtype == np.uint8 and len(box.shape) == 3

    @property
    def family(self) -> Family:
        return Categorical if self.discrete else DiagonalGaussian

    @property
    def features(self) -> int:
        """D: the length of an observation as a vector."""
        return gym.spaces.flatdim(self.observation)

    @property
    def actions(self) -> int:
        """A: the number of actions, or of action dimensions."""
        return gym.spaces.flatdim(self.action)

    def encode(self, obs: np.ndarray, rows: tuple[int, ...]) -> Tensor:
        """Observations [*rows, *shape] as float32 vectors [*rows, D]; a Discrete one becomes one-hot."""
        if isinstance(self.observation, gym.spaces.Discrete):
            index = torch.from_numpy(np.asarray(obs, dtype=np.int64).reshape(rows)) - int(self.observation.start)
            return torch.nn.functional.one_hot(index, self.features).float()
        return torch.from_numpy(np.asarray(obs, dtype=np.float32).reshape(*rows, self.features))

    def decode(self, action: Tensor) -> np.ndarray:
        """Actions [*rows] or [*rows, A] as the environment takes them; a Box action is clipped to its bounds."""
        array = action.cpu().numpy()
        if isinstance(self.action, gym.spaces.Discrete):
            return array + self.action.start
        assert isinstance(self.action, gym.spaces.Box)
        array = np.nan_to_num(array)  # a diverged policy must not break the world: its loss tells, a moment later
        array = array.reshape(*array.shape[:-1], *(self.action.shape or ()))
        return np.clip(array, self.action.low, self.action.high).astype(self.action.dtype)
