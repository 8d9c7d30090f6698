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
        return self.seen(), {}

    def seen(self) -> Any:
        return np.full(3, self.t, np.float32)

    def paid(self, action: Any) -> Any:
        return 1.0

    def step(self, action: Any) -> Any:
        self.t += 1
        return self.seen(), self.paid(action), self.t >= 5, False, {}


class FourValues(Counting):
    def step(self, action: Any) -> Any:
        return self.seen(), 1.0, False, {}


class OnlyAnObservation(Counting):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed)[0]


class TakesNoSeed(Counting):
    def reset(self) -> Any:  # type: ignore[override]
        return super().reset()


class RewardArray(Counting):
    def paid(self, action: Any) -> Any:
        return np.array([1.0])


class TwoRewards(Counting):
    def paid(self, action: Any) -> Any:
        return np.array([1.0, 2.0])


class TooShort(Counting):
    def seen(self) -> Any:
        return np.zeros(2, np.float32)


class Fractions(Counting):
    observation_space = spaces.Box(0, 255, (3,), np.uint8)


class OldNames(Counting):
    observation_space = "Box(3)"  # type: ignore[assignment]


class WideBox(Counting):
    action_space = spaces.Box(-1000, 1000, (1,))

    def paid(self, action: Any) -> Any:
        return float(action[0])


class Unbounded(Counting):
    action_space = spaces.Box(-np.inf, np.inf, (1,))


class Masked(Counting):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed)[0], {"action_mask": np.array([1, 0, 1], np.int8)}

    def step(self, action: Any) -> Any:
        return (*super().step(action)[:4], {"action_mask": np.array([1, 0, 1], np.int8)})


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


class Halved(gym.RewardWrapper):
    """Half the reward."""

    def reward(self, reward: Any) -> Any:
        return reward / 2


class OneLess(gym.RewardWrapper):
    """The reward minus one."""

    def reward(self, reward: Any) -> Any:
        return reward - 1


class Less(gym.RewardWrapper):
    """The reward minus a number."""

    def __init__(self, env: gym.Env, by: float) -> None:
        super().__init__(env)
        self.by = by

    def reward(self, reward: Any) -> Any:
        return reward - self.by


class Spoken(Counting):
    """Shows the time and the place, and says what to do in a text."""

    observation_space = spaces.Dict(at=spaces.Discrete(3), task=spaces.Text(9), time=Counting.observation_space)

    def seen(self) -> Any:
        return {"at": self.t % 3, "task": "wait", "time": super().seen()}


class BreaksInAWorker(Counting):
    """Behaves in the process that it is imported in, and fails in a worker's first step."""

    def step(self, action: Any) -> Any:
        raise ValueError("the floor gave way")


KINDS = (FourValues, RewardArray, WideBox, Arguments, Counting, Spoken, BreaksInAWorker)
for kind in KINDS:
    register(f"{kind.__name__}-v0", kind)
