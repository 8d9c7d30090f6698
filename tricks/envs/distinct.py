"""What lanes must not share: objects, and random numbers."""

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import gymnasium as gym
import numpy as np
import torch

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.envs.generators import Draws
from tricks.envs.lane import make_lane
from tricks.errors import InputError

GENERATORS = np.random.Generator, np.random.RandomState, random.Random, torch.Generator
OF_DRAWS = random._inst, np.random.mtrand._rand, torch.default_generator
IN_USE: WeakValueDictionary[int, gym.Env] = WeakValueDictionary()  # the objects that are lanes now


def claimed(envs: Sequence[gym.Env]) -> list[int]:
    """The ids of the objects in these lanes, which nothing else may step until `release`.

    Raises InputError if one is already another lane, of this training or of one in progress. (Worker processes have
    copies.)
    """
    found: list[int] = []
    for env in (lane.unwrapped for lane in envs):
        if id(env) in IN_USE:
            release(found)
            raise InputError(
                f"env= made the same {type(env).__name__} object for two lanes, which would step it in turn; it must "
                f"make a new one at each call: env=lambda: {type(env).__name__}(...)"
            )
        IN_USE[id(env)] = env
        found.append(id(env))
    return found


def release(claimed: Sequence[int]) -> None:
    """Let the objects with these ids be lanes again."""
    for key in claimed:
        IN_USE.pop(key, None)


def unseeded(config: Config, make: MakeEnv | None) -> Iterator[str]:
    """What is wrong with the random numbers of an environment, of which one more is made, without config.wrap.

    A generator that a module or class holds has one state for all lanes of a process, and the same state in every
    worker; and resets with the same seed should begin the same episode. An environment that fails is left to fail in
    training.
    """
    try:
        with Draws(0, "env", 0, 0).during("reset"):
            env = make_lane(replace(config, wrap=(), stack=1, rescale_actions=False), make)
        if id(env.unwrapped) in IN_USE:  # there is only this one
            return
        with closing(env):
            found, starts = list(held(env)), []
            for _ in range(2):
                with Draws(0, "env", 0, 0).during("reset"):
                    starts.append(deepcopy(env.reset(seed=0)[0]))
    except (Exception, SystemExit):
        return
    yield from found
    if not _equal(*starts):
        yield "begins another episode when it is reset with the same seed, so its runs cannot be repeated"


def held(env: gym.Env) -> Iterator[str]:
    """The generators that the modules and classes of an environment and of its wrappers hold."""
    layers = [env]
    while isinstance(layers[-1], gym.Wrapper):
        layers.append(layers[-1].env)
    classes = [kind for layer in layers for kind in type(layer).__mro__]
    homes = {kind.__module__: vars(sys.modules[kind.__module__]) for kind in classes if kind.__module__ in sys.modules}
    for home, names in (homes | {f"{kind.__module__}.{kind.__qualname__}": vars(kind) for kind in classes}).items():
        for name, each in list(names.items()):
            if isinstance(each, GENERATORS) and each not in OF_DRAWS:
                yield (
                    f"draws from {home}.{name}, which no seed reaches: use self.np_random, which reset(seed=...) seeds"
                )


def _equal(one: Any, other: Any) -> bool:
    """Whether two observations, nested like their space, have the same numbers; NaN equals NaN."""
    if isinstance(one, dict):
        return all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return all(map(_equal, one, other))
    return np.array_equal(np.asarray(one), np.asarray(other), equal_nan=np.asarray(one).dtype.kind in "fc")
