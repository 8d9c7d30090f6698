"""Environments that misbehave or fail, in every lane or only in those of one seed; and how they are played."""

import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from support.probes import Endless, register

from tricks import Config
from tricks.core.env import Env, Step

Outcome = tuple[Any, Any, Any, Any, Any]
BOX, TWO = Endless.observation_space, Endless.action_space
PARENT = os.getpid()


class Misbehaving(Endless):
    """Episodes of five steps; after `well` steps, it answers as `how` says. Its observation is random."""

    length = 5

    def __init__(self, how: str = "well", well: int = 6) -> None:
        self.how, self.well, self.taken = how, well, 0
        self.observation_space, self.action_space = SPACES.get(how, (BOX, TWO))

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


class Unmade(Endless):
    def __init__(self) -> None:
        raise ValueError("no such\nmap")


class BadReset(Endless):
    resets = 0

    def begin(self) -> None:
        self.resets += 1
        if self.resets == 2:
            raise OSError(2, "the map is lost")


class Stubborn(Exception):
    """Neither to be pickled nor to be made anew from its message."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{what}\n  {where}")
        self.lock = threading.Lock()


def gives_way(*outcome: Any) -> Any:
    raise Stubborn("the floor", "gave way")


def dies(*outcome: Any) -> Any:
    if os.getpid() != PARENT:
        print("Killed", file=sys.stderr)
        os.kill(os.getpid(), signal.SIGKILL)
    return outcome


SPACES: dict[str, Any] = {"does nothing": (BOX, Box(-1, 1, (0,)))}
ANSWERS: dict[str, Callable[..., Outcome]] = {
    "obs": lambda obs, *rest: (obs * np.nan, *rest),
    "reward": lambda obs, reward, *rest: (obs, np.inf, *rest),
    "no reward": lambda obs, reward, *rest: (obs, None, *rest),
    "nothing is legal": lambda *outcome: (*outcome[:4], {"action_mask": np.zeros(2, bool)}),
    "no info": lambda *outcome: (*outcome[:4], None),
    "endless": lambda obs, reward, *rest: (obs, reward, False, False, {}),
    "exit": lambda *outcome: sys.exit(3),
    "raise": gives_way,
    "die": dies,
    "quit": lambda *outcome: os._exit(3) if os.getpid() != PARENT else outcome,
    "hang": lambda *outcome: (threading.Event().wait(300), *outcome)[1:],
}
for name in ("raise", "die", "quit", "hang"):
    register(f"Failing-{name}-v0", Misbehaving, how=name, well=2)
register("Unmade-v0", Unmade)
register("BadReset-v0", BadReset, max_episode_steps=1)


def second_seed(how: str, lanes: int) -> Callable[[], Misbehaving]:
    """Makes the lanes of two seeds, in order: those of the first behave, those of the second do not."""
    made = itertools.count(1)
    return lambda: Misbehaving(how if next(made) > lanes else "well")


def processes(id: str, backend: str = "processes") -> Config:
    return Config(env=id, backend=backend, seeds=(3, 8), lanes=2, steps=300, horizon=16)


def play(env: Env, rows: int) -> Iterator[Step]:
    """The steps of all lanes; seed 3 plays always, seed 8 two steps of three; one reset of all on the way."""
    rng, size = np.random.default_rng(0), (len(env.seeds), env.lanes)
    for t in range(rows):
        if t == rows // 2:
            env.reset()
        action = torch.from_numpy(rng.integers(env.spaces.actions, size=size))
        yield env.step(action, torch.tensor([True, t % 3 > 0]))
    env.close()
