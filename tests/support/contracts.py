"""Small environments that keep or break Gymnasium's interface in one way each."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from support.register import register


class Counting(gym.Env):
    """Episodes of five steps; the observation is the number of steps so far, three times, and 1 is paid for each."""

    observation_space: gym.Space[Any] = spaces.Box(-9, 9, (3,), np.float32)
    action_space: gym.Space[Any] = spaces.Discrete(3)
    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own interface
    t = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return self.seen(), self.info()

    def seen(self) -> Any:
        return np.full(3, self.t, np.float32)

    def paid(self, action: Any) -> Any:
        return 1.0

    def info(self) -> Any:
        return {}

    def step(self, action: Any) -> Any:
        self.t += 1
        return self.seen(), self.paid(action), self.t >= 5, False, self.info()


def counting(name: str, **parts: Any) -> Any:
    """The same with other parts."""
    return type(name, (Counting,), parts | {"__module__": __name__})


def fails(self: Counting, action: Any) -> Any:
    raise ValueError("the floor gave way")


FourValues = counting("FourValues", step=lambda self, action: (self.seen(), 1.0, False, {}))
OnlyAnObservation = counting("OnlyAnObservation", reset=lambda self, **asked: Counting.reset(self, **asked)[0])
TakesNoSeed = counting("TakesNoSeed", reset=lambda self: Counting.reset(self))
RewardArray = counting("RewardArray", paid=lambda self, action: np.array([1.0]))
TwoRewards = counting("TwoRewards", paid=lambda self, action: np.array([1.0, 2.0]))
TooShort = counting("TooShort", seen=lambda self: np.zeros(2, np.float32))
Fractions = counting("Fractions", observation_space=spaces.Box(0, 255, (3,), np.uint8))
OldNames = counting("OldNames", observation_space="Box(3)")
WideBox = counting("WideBox", action_space=spaces.Box(-1000, 1000, (1,)), paid=lambda self, action: float(action[0]))
Unbounded = counting("Unbounded", action_space=spaces.Box(-np.inf, np.inf, (1,)))
Masked = counting("Masked", info=lambda self: {"action_mask": np.array([1, 0, 1], np.int8)})
BreaksInAWorker = counting("BreaksInAWorker", step=fails)  # behaves in the process that it is imported in


class Arguments(Counting):
    """Pays its level."""

    def __init__(self, level: int, mode: str = "easy") -> None:
        self.level, self.mode = level, mode

    def paid(self, action: Any) -> Any:
        return self.level * (10 if self.mode == "hard" else 1)


class Picture(Counting):
    """[C, H, W] images, all as bright as there were steps."""

    observation_space = spaces.Box(0, 255, (2, 20, 20), np.uint8)

    def seen(self) -> Any:
        return np.full((2, 20, 20), self.t, np.uint8)


class Spoken(Counting):
    """Shows the time and the place, and says what to do in a text."""

    observation_space = spaces.Dict(at=spaces.Discrete(3), task=spaces.Text(9), time=Counting.observation_space)

    def seen(self) -> Any:
        return {"at": self.t % 3, "task": "wait", "time": super().seen()}


class Less(gym.RewardWrapper):
    """The reward minus a number."""

    def __init__(self, env: gym.Env, by: float) -> None:
        super().__init__(env)
        self.by = by

    def reward(self, reward: Any) -> Any:
        return reward - self.by


class OneLess(gym.RewardWrapper):
    def reward(self, reward: Any) -> Any:
        return reward - 1


class Halved(gym.RewardWrapper):
    def reward(self, reward: Any) -> Any:
        return reward / 2


for kind in (FourValues, RewardArray, WideBox, Arguments, Counting, Spoken, BreaksInAWorker):
    register(f"{kind.__name__}-v0", kind)
