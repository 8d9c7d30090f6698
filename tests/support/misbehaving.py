"""Environments that misbehave, in every lane or only in those of one seed."""

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box, Discrete
from support.probes import Endless

Outcome = tuple[Any, Any, Any, Any, Any]
BOX, TWO = Endless.observation_space, Endless.action_space


class Misbehaving(Endless):
    """Episodes of five steps; after `well` steps, it answers as `how` says. Its observation is random."""

    length = 5

    def __init__(self, how: str = "well", well: int = 6) -> None:
        self.how, self.well, self.taken = how, well, 0
        self.observation_space, self.action_space = SPACES.get(how, (BOX, TWO))
        if how == "exit when made":
            sys.exit("no display")

    def begin(self) -> None:
        if self.how == "exit in reset" and self.taken > self.well:
            sys.exit(3)

    def see(self) -> Any:
        if isinstance(self.observation_space, Discrete):
            return 0
        return self.np_random.uniform(-1, 1, self.observation_space.shape or ()).astype(np.float32)

    def step(self, action: Any) -> Outcome:
        self.taken += 1
        outcome = super().step(action)
        return ANSWERS[self.how](*outcome) if self.taken > self.well and self.how in ANSWERS else outcome

    def close(self) -> None:
        if self.how == "close raises":
            raise OSError("already gone")


class Scripted(Endless):
    """Episodes of these lengths, one after the other, and again."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = itertools.cycle(lengths)

    def begin(self) -> None:
        self.length = next(self.lengths)


SPACES: dict[str, tuple[Space[Any], Space[Any]]] = {
    "too large": (Discrete(3), TWO),
    "too small": (Discrete(3), TWO),
    "sees nothing": (Box(-1, 1, (0,)), TWO),
    "does nothing": (BOX, Box(-1, 1, (0,))),
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
    "exit": lambda *outcome: sys.exit(3),
}


def second_seed(how: str, lanes: int) -> Callable[[], Misbehaving]:
    """Makes the lanes of two seeds, in order: those of the first behave, those of the second do not."""
    made = itertools.count(1)
    return lambda: Misbehaving(how if next(made) > lanes else "well")
