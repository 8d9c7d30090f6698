"""The random numbers of lanes: what they draw from NumPy's global generator, and what no seed reaches."""

from contextlib import closing, suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import gymnasium as gym
import numpy as np

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.seeds import PURPOSES, stream
from tricks.envs.lane import make_lane

IN_USE: WeakValueDictionary[int, gym.Env] = WeakValueDictionary()  # the objects that are lanes now, by their id
ALIKE = 20  # steps in which two episodes with the same seed and actions are compared


class Draws:
    """What a lane draws from NumPy's global generator, as if it had a process of its own: `with draws: env.step(a)`."""

    def __init__(self, seed: int, purpose: str, resumed: int, lane: int) -> None:
        rng = stream(seed, "globals", PURPOSES.index(purpose), resumed, lane)
        self._own = np.random.MT19937(int(rng.integers(2**32)))

    def __enter__(self) -> None:
        self._outer = np.random.get_bit_generator()  # type: ignore[attr-defined]
        np.random.set_bit_generator(self._own)  # type: ignore[attr-defined]

    def __exit__(self, *_: object) -> None:
        np.random.set_bit_generator(self._outer)  # type: ignore[attr-defined]


def repeatable(config: Config, make: MakeEnv | None) -> bool:
    """Whether an environment, of which one more is made, without config.wrap, repeats an episode that begins anew.

    It does not if it draws from a generator that no seed reaches. What fails is left to fail in training.
    """
    episodes, actions = list[list[Any]](), list[Any]()
    try:
        with Draws(0, "env", 0, 0):
            env = make_lane(replace(config, wrap=(), stack=1, rescale_actions=False), make)
        if id(env.unwrapped) in IN_USE:  # there is only this one
            return True
        with closing(env):
            for _ in range(2):
                with Draws(0, "env", 0, 0):
                    episodes.append(episode(env, actions))
        one, other = episodes  # one that fails is the shorter one
        np.testing.assert_equal(one[: len(other)], other[: len(one)])  # NaN is NaN
    except AssertionError:
        return False
    except (Exception, SystemExit):
        return True
    return True


def episode(env: gym.Env, actions: list[Any]) -> list[Any]:
    """The observations and rewards of an episode, of ALIKE steps at most, by these actions or random ones."""
    seen: list[Any] = []
    with suppress(Exception):  # what an environment does wrong is said when it is trained in
        seen.append(deepcopy(env.reset(seed=0)[0]))
        for t in range(ALIKE):
            actions += [env.action_space.sample()] if len(actions) == t else []
            obs, reward, terminated, truncated, _ = env.step(actions[t])
            seen += [deepcopy(obs), np.float64(reward)]
            if terminated or truncated:
                break
    return seen
