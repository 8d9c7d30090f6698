"""An environment of any spaces."""

from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete

BOOL: Any = np.bool_  # which the types of Gymnasium do not know
TWO, THREE = Discrete(2), Box(-1, 1, (3,), np.float32)


class AnySpace(gym.Env):
    """Shows samples of its observation space, for episodes of five steps, and refuses actions that are not in its own.

    A step pays `paid(action)`, by default 1.
    """

    def __init__(self, observation: gym.Space[Any] = THREE, action: gym.Space[Any] = TWO) -> None:
        self.observation_space, self.action_space = deepcopy(observation), action  # each lane draws its own

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.t = 0
        return self.observation_space.sample(), self.info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(action):
            raise ValueError(f"{action!r} is not in {self.action_space}")
        self.t += 1
        return self.observation_space.sample(), self.paid(action), self.t >= 5, False, self.info()

    def paid(self, action: Any) -> float:
        return 1.0

    def info(self) -> dict[str, Any]:
        return {}
