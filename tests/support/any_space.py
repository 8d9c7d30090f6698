"""An environment of any spaces."""

from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete
from support.probes import Endless

BOOL: Any = np.bool_  # which the types of Gymnasium do not know
TWO, THREE = Discrete(2), Box(-1, 1, (3,), np.float32)


class AnySpace(Endless):
    """Shows samples of its observation space, for episodes of five steps; refuses actions that are not in its own."""

    length = 5

    def __init__(self, observation: gym.Space[Any] = THREE, action: gym.Space[Any] = TWO) -> None:
        self.observation_space, self.action_space = deepcopy(observation), action  # each lane draws its own

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self.observation_space.seed(seed)
        return super().reset(seed=seed)

    def see(self) -> Any:
        return self.observation_space.sample()

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Any]:
        if not self.action_space.contains(action):
            raise ValueError(f"{action!r} is not in {self.action_space}")
        return super().step(action)

    def info(self) -> dict[str, Any]:
        return {}
