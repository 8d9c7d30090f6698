"""Environments that misbehave, in every lane or only in those of one seed."""

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from support.probes import Endless

Outcome = tuple[Any, Any, Any, Any, Any]


class Misbehaving(Endless):
    """Episodes of five steps; after `well` steps, it answers as `how` says. Its observation is random."""

    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]

    def __init__(self, how: str = "well", well: int = 6) -> None:
        self.how, self.well, self.t, self.age = how, well, 0, 0
        self.observation_space, self.action_space = SPACES.get(how, (Endless.observation_space, Endless.action_space))
        if how == "exit when made":
            sys.exit("no display")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        gym.Env.reset(self, seed=seed)
        self.age = 0
        if self.how == "exit in reset" and self.t > self.well:
            sys.exit(3)
        return self.see(), {"action_mask": np.ones(2, bool)}

    def see(self) -> Any:
        if isinstance(self.observation_space, gym.spaces.Discrete):
            return 0
        return self.np_random.uniform(-1, 1, self.observation_space.shape or ()).astype(np.float32)

    def step(self, action: Any) -> Outcome:
        self.t, self.age = self.t + 1, self.age + 1
        outcome: Outcome = self.see(), 1.0, self.age == 5, False, {}
        return outcome if self.t <= self.well else ANSWERS.get(self.how, as_usual)(*outcome)

    def close(self) -> None:
        if self.how == "close raises":
            raise OSError("already gone")


class Scripted(Endless):
    """Episodes of these lengths, one after the other, and again."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = itertools.cycle(lengths)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.left = next(self.lengths)
        return super().reset(seed=seed)

    def step(self, action: Any) -> Outcome:
        self.left -= 1
        return np.zeros(1, np.float32), 1.0, self.left == 0, False, {}


def as_usual(*outcome: Any) -> Outcome:
    return outcome


def leave(*outcome: Any) -> Outcome:
    sys.exit(3)


BOX, TWO = Endless.observation_space, Endless.action_space
SPACES: dict[str, tuple[gym.Space[Any], gym.Space[Any]]] = {
    "too large": (gym.spaces.Discrete(3), TWO),
    "too small": (gym.spaces.Discrete(3), TWO),
    "sees nothing": (gym.spaces.Box(-1, 1, (0,)), TWO),
    "does nothing": (BOX, gym.spaces.Box(-1, 1, (0,))),
}
ANSWERS: dict[str, Callable[..., Outcome]] = {
    "obs": lambda obs, *rest: (obs * np.nan, *rest),
    "reward": lambda obs, reward, *rest: (obs, np.inf, *rest),
    "no reward": lambda obs, reward, *rest: (obs, None, *rest),
    "a word": lambda obs, reward, *rest: (obs, "one", *rest),
    "wrong shape": lambda obs, *rest: (np.zeros(3, np.float32), *rest),
    "too large": lambda obs, *rest: (3, *rest),
    "too small": lambda obs, *rest: (-1, *rest),
    "short mask": lambda *outcome: (*outcome[:4], {"action_mask": np.ones(3, bool)}),
    "nothing is legal": lambda *outcome: (*outcome[:4], {"action_mask": np.zeros(2, bool)}),
    "no info": lambda *outcome: (*outcome[:4], None),
    "endless": lambda obs, reward, *rest: (obs, reward, False, False, {}),
    "exit": leave,
}


def second_seed(how: str, lanes: int) -> Callable[[], Misbehaving]:
    """Makes the lanes of two seeds, in order: those of the first behave, those of the second do not."""
    made = 0

    def make() -> Misbehaving:
        nonlocal made
        made += 1
        return Misbehaving(how if made > lanes else "well")

    return make
