"""Environments that show images, with lives, and one that takes whole numbers in a Box."""

from typing import Any

import gymnasium as gym
import numpy as np
from support.probes import ThreeLives


class SmallPictures(ThreeLives):
    """The same as images; they are dark, but for the steps of the life so far."""

    observation_space = gym.spaces.Box(0, 255, (2, 8, 8), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        _, info = super().reset(seed=seed)
        return self.image(), info

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        _, points, *ends, info = super().step(action)
        return self.image(), points + action, *ends, info  # type: ignore[return-value]

    def image(self) -> np.ndarray:
        image = np.zeros((2, 8, 8), np.uint8)
        image[:, : 2 * (self.t % 4)] = 100
        return image


class ChannelsLast(SmallPictures):
    """The same with the channels as the last axis."""

    observation_space = gym.spaces.Box(0, 255, (8, 8, 2), np.uint8)

    def image(self) -> np.ndarray:
        return np.moveaxis(super().image(), 0, -1)


class LargePictures(SmallPictures):
    """The same, for larger convolutions."""

    observation_space = gym.spaces.Box(0, 255, (1, 36, 36), np.uint8)

    def image(self) -> np.ndarray:
        image = np.zeros((1, 36, 36), np.uint8)
        image[:, : 9 * (self.t % 4)] = 100
        return image


class WholeNumbers(ThreeLives):
    """Pays the sum of two whole numbers, which a policy chooses as Box actions."""

    action_space = gym.spaces.Box(-3, 3, (2,), np.int64)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:  # type: ignore[override]
        obs, points, *ends, info = super().step(0)
        return obs, points + float(action.sum()), *ends, info  # type: ignore[return-value]
