"""The random numbers of lanes: what they draw from global generators, and what no seed reaches."""

import random
from contextlib import closing
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import gymnasium as gym
import numpy as np
import torch

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.seeds import PURPOSES, stream
from tricks.envs.lane import make_lane
from tricks.envs.statistics import episode, same

IN_USE: WeakValueDictionary[int, gym.Env] = WeakValueDictionary()  # the objects that are lanes now, by their id
ALIKE = 20  # steps in which two episodes with the same seed and actions are compared
TRIAL = 32  # resets, and steps, after which a lane that has left `random` and torch alone is no longer watched


class Draws:
    """What a lane draws from global generators, as if it had a process of its own.

        with draws.during("step"): env.step(action)

    Exchanging NumPy's generator costs nothing. The states of `random` and torch take longer to exchange than a small
    environment takes for a step, so a lane that has not drawn from them in its first 32 resets and steps shares them.
    """

    def __init__(self, seed: int, purpose: str, resumed: int, lane: int) -> None:
        words = stream(seed, "globals", PURPOSES.index(purpose), resumed, lane).integers(2**32, size=3).tolist()
        self._numpy = np.random.MT19937(words[0])
        self._others = random.Random(words[1]).getstate(), torch.Generator().manual_seed(words[2]).get_state()
        self._left, self._call = {"reset": float(TRIAL), "step": float(TRIAL)}, "reset"

    def during(self, call: str) -> "Draws":
        """The same, for this kind of call: reset (or making the lane) or step."""
        self._call = call
        return self

    def __enter__(self) -> None:
        self._outer = np.random.get_bit_generator()  # type: ignore[attr-defined]
        np.random.set_bit_generator(self._numpy)  # type: ignore[attr-defined]
        if self._left[self._call]:
            self._outside = _exchange(self._others)

    def __exit__(self, *_: object) -> None:
        np.random.set_bit_generator(self._outer)  # type: ignore[attr-defined]
        if self._left[self._call]:
            before, self._others = self._others, _exchange(self._outside)
            self._left[self._call] -= 1
            if before[0] != self._others[0] or not torch.equal(before[1], self._others[1]):
                self._left = dict.fromkeys(self._left, float("inf"))


def _exchange(states: tuple[tuple[object, ...], torch.Tensor]) -> tuple[tuple[object, ...], torch.Tensor]:
    """Set the states of `random` and torch, and return those before."""
    before = random.getstate(), torch.get_rng_state()
    random.setstate(states[0])
    torch.set_rng_state(states[1])
    return before


def repeatable(config: Config, make: MakeEnv | None) -> bool:
    """Whether an environment, of which one more is made, without config.wrap, repeats an episode that begins anew.

    It does not if it draws from a generator that no seed reaches. What fails is left to fail in training.
    """
    try:
        with Draws(0, "env", 0, 0).during("reset"):
            env = make_lane(replace(config, wrap=(), stack=1, rescale_actions=False), make)
        if id(env.unwrapped) in IN_USE:  # there is only this one
            return True
        with closing(env):
            episodes, actions = list[list[Any]](), list[Any]()
            for _ in range(2):
                with Draws(0, "env", 0, 0).during("reset"):
                    episodes.append(episode(env, actions, ALIKE))
    except (Exception, SystemExit):
        return True
    one, other = episodes  # one that fails is the shorter one
    return same(one[: len(other)], other[: len(one)])
