"""Small environments that keep or break Gymnasium's interface in one way each."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from support.probes import Endless, like, register


class Counting(Endless):
    """Episodes of five steps; the observation is the number of steps so far, three times, and 1 is paid for each."""

    observation_space: gym.Space[Any] = spaces.Box(-9, 9, (3,), np.float32)
    action_space: gym.Space[Any] = spaces.Discrete(3)
    length = 5
    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own interface

    def see(self) -> Any:
        return np.full(3, self.t, np.float32)

    def info(self) -> Any:
        return {}


def fails(self: Counting, action: Any) -> Any:
    raise ValueError("the floor gave way")


FourValues = like(Counting, "FourValues", step=lambda self, action: (self.see(), 1.0, False, {}))
OnlyAnObservation = like(Counting, "OnlyAnObservation", reset=lambda self, **asked: Counting.reset(self, **asked)[0])
TakesNoSeed = like(Counting, "TakesNoSeed", reset=lambda self: Counting.reset(self))
RewardArray = like(Counting, "RewardArray", pay=lambda self, action: np.array([1.0]))
TwoRewards = like(Counting, "TwoRewards", pay=lambda self, action: np.array([1.0, 2.0]))
TooShort = like(Counting, "TooShort", see=lambda self: np.zeros(2, np.float32))
Fractions = like(Counting, "Fractions", observation_space=spaces.Box(0, 255, (3,), np.uint8))
OldNames = like(Counting, "OldNames", observation_space="Box(3)")
WideBox = like(Counting, "WideBox", action_space=spaces.Box(-1000, 1000, (1,)), pay=lambda self, a: float(a[0]))
Unbounded = like(Counting, "Unbounded", action_space=spaces.Box(-np.inf, np.inf, (1,)))
Masked = like(Counting, "Masked", info=lambda self: {"action_mask": np.array([1, 0, 1], np.int8)})
Spoken = like(  # shows the time and the place, and says what to do in a text
    Counting,
    "Spoken",
    observation_space=spaces.Dict(at=spaces.Discrete(3), task=spaces.Text(9), time=Counting.observation_space),
    see=lambda self: {"at": self.t % 3, "task": "wait", "time": Counting.see(self)},
)
OneLess = like(gym.RewardWrapper, "OneLess", reward=lambda self, reward: reward - 1)
Halved = like(gym.RewardWrapper, "Halved", reward=lambda self, reward: reward / 2)
BreaksInAWorker = like(Counting, "BreaksInAWorker", step=fails)  # behaves in the process that it is imported in


class Arguments(Counting):
    def __init__(self, level: int, mode: str = "easy") -> None:
        self.level, self.mode = level, mode

    def pay(self, action: Any) -> Any:
        return self.level * (10 if self.mode == "hard" else 1)


class Less(gym.RewardWrapper):
    def __init__(self, env: gym.Env, by: float) -> None:
        super().__init__(env)
        self.by = by

    def reward(self, reward: Any) -> Any:
        return reward - self.by


for kind in (FourValues, RewardArray, WideBox, Arguments, Counting, Spoken, BreaksInAWorker):
    register(f"{kind.__name__}-v0", kind)
