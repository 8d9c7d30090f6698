"""Environments that fail, each in its own way, and how they are played in worker processes."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import torch
from support.probes import Endless
from support.register import register

from tricks import Config
from tricks.core.env import Env, Step

PARENT = os.getpid()


class Stubborn(Exception):
    """Neither to be pickled nor to be made anew from its message."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{what}\n  {where}")
        self.lock = threading.Lock()


class Failing(Endless):
    """Fails in the third step, in the way that `how` says."""

    def __init__(self, how: str) -> None:
        self.how, self.taken = how, 0

    def pay(self, action: int) -> float:
        self.taken += 1
        how = self.how if self.taken == 3 else ""
        if how == "raise":
            raise Stubborn("the floor", "gave way")
        if how == "hang":
            time.sleep(300)
        if how == "die" and os.getpid() != PARENT:
            print("Killed", file=sys.stderr)
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "exit" and os.getpid() != PARENT:
            os._exit(3)
        return 1.0


class Unmade(Endless):
    def __init__(self) -> None:
        raise ValueError("no such\nmap")


class BadReset(Endless):
    resets = 0

    def begin(self) -> None:
        self.resets += 1
        if self.resets == 2:
            raise OSError(2, "the map is lost")


for how in ("raise", "die", "exit", "hang"):
    register(f"Failing-{how}-v0", Failing, how=how)
register("Unmade-v0", Unmade)
register("BadReset-v0", BadReset, max_episode_steps=1)


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
