"""Environments so small that the values and the best policy are known, with one thing to notice, or of any spaces."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete


def register(id: str, make: Callable[..., gym.Env], max_episode_steps: int | None = None, **options: Any) -> None:
    """`gym.register` for a class or function, which Gymnasium's own type does not take."""
    entry: Any = make
    gym.register(id, entry_point=entry, max_episode_steps=max_episode_steps, kwargs=options)


def like(base: type, name: str, **parts: Any) -> Any:
    return type(name, (base,), parts | {"__module__": base.__module__})


class Endless(gym.Env):
    """Reward 1 for ever, and nothing to see; it is registered with a limit of one step. Others answer differently."""

    observation_space: gym.Space[Any] = Box(-1, 1, (1,))
    action_space: gym.Space[Any] = Discrete(2)
    length = 0  # after so many steps, an episode ends
    t = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        self.begin()
        return self.see(), self.info()

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Any]:
        reward, self.t = self.pay(action), self.t + 1
        return self.see(), reward, self.t == self.length, False, self.info()

    def begin(self) -> None:
        """What happens at a reset."""

    def see(self) -> Any:
        return np.zeros(1, np.float32)

    def pay(self, action: Any) -> float:
        return 1.0

    def info(self) -> dict[str, Any]:
        return {} if self.t else {"action_mask": np.ones(2, np.int8)}


class Probe(Endless):
    """Two actions; one number to see. `answers` are pairs of an observation and its true value under π*."""

    gamma = 0.9
    answers: tuple[tuple[float, float], ...] = ((0.0, 1.0),)
    best: tuple[tuple[float, int], ...] = ()  # pairs of an observation and the best action there
    length = 1

    def see(self) -> np.ndarray:
        self.seen = self.later() if self.t else self.first()
        return np.array([self.seen], np.float32)

    def first(self) -> float:
        return 0.0

    def later(self) -> float:
        return self.seen


def chance(self: Probe) -> float:
    return float(self.np_random.choice([-1.0, 1.0]))


# Always the same, always a reward of 1: does the value net learn at all?
OneState = like(Probe, "OneState")
# The reward is what is seen: does the value depend on the observation?
ANSWERS = (-1.0, -1.0), (1.0, 1.0)
SeenReward = like(Probe, "SeenReward", answers=ANSWERS, first=chance, pay=lambda self, action: self.seen)
# Two steps, and a reward of 1 at the end: is the return discounted?
STEPS = {"first": lambda self: -1.0, "later": lambda self: 1.0, "pay": lambda self, action: float(self.t == 1)}
DelayedReward = like(Probe, "DelayedReward", answers=((-1.0, 0.9), (1.0, 1.0)), length=2, **STEPS)
# Action 1 pays 1 and action 0 takes 1: does the policy learn?
ActionReward = like(Probe, "ActionReward", best=((0.0, 1),), pay=lambda self, action: 1.0 if action == 1 else -1.0)


class SeenActionReward(Probe):
    """What is seen says which action pays: does the policy depend on the observation?"""

    answers, best, first = ((-1.0, 1.0), (1.0, 1.0)), ((-1.0, 0), (1.0, 1)), chance

    def pay(self, action: int) -> float:
        return 1.0 if (action == 1) == (self.seen > 0) else -1.0


# Ends after its first step by itself, where its time limit would end it as well.
DeadOnTime = like(Endless, "DeadOnTime", length=1)


class AllLegal(gym.Wrapper):
    """Gives a mask, so that action_mask can be on; everything is legal."""

    def reset(self, **asked: Any) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(**asked)
        return obs, info | {"action_mask": np.ones(2, np.int8)}


class Forbidding(Endless):
    """Four actions, of which chance forbids some; each forbidden one that is played costs 1. Five steps."""

    action_space, length = Discrete(4), 5

    def pay(self, action: int) -> float:
        return 0.0 if self.mask[action] else -1.0

    def info(self) -> dict[str, np.ndarray]:
        self.mask = (self.np_random.random(4) < 0.5).astype(np.int8)
        self.mask[self.np_random.integers(4)] = 1
        return {"action_mask": self.mask}


class ResetMask(Forbidding):
    """Gives its mask when it is reset, and at no other step; lanes end at different times."""

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        return self.see(), 0.0, bool(self.np_random.random() < 0.3), False, {}


class ThreeLives(Endless):
    """Four steps a life, 5 points a step; but what ends the first life costs 60."""

    length = 12

    def pay(self, action: Any) -> float:
        return 5.0 if self.t != 3 else -60.0

    def info(self) -> dict[str, int]:
        return {"lives": 3 - self.t // 4}


class SmallPictures(ThreeLives):
    """The same as images; they are dark, but for the steps of the life so far."""

    observation_space, size = Box(0, 255, (2, 8, 8), np.uint8), (2, 8, 8)

    def see(self) -> np.ndarray:
        image = np.zeros(self.size, np.uint8)
        image[:, : self.size[1] // 4 * (self.t % 4)] = 100
        return image

    def pay(self, action: int) -> float:
        return super().pay(action) + action


# The same with the channels as the last axis, and for larger convolutions.
LAST = Box(0, 255, (8, 8, 2), np.uint8)
ChannelsLast = like(
    SmallPictures, "ChannelsLast", observation_space=LAST, see=lambda self: np.moveaxis(SmallPictures.see(self), 0, -1)
)
LARGE = (1, 36, 36)
LargePictures = like(SmallPictures, "LargePictures", observation_space=Box(0, 255, LARGE, np.uint8), size=LARGE)


PROBES = {f"{kind.__name__}-v0": kind for kind in (OneState, SeenReward, DelayedReward, ActionReward, SeenActionReward)}


BOOL: Any = np.bool_  # which the types of Gymnasium do not know
TWO, THREE = Discrete(2), Box(-1, 1, (3,), np.float32)


class AnySpace(Endless):
    """Shows samples of its observation space, for episodes of five steps; refuses actions that are not in its own."""

    length = 5

    def __init__(self, observation: gym.Space[Any] = THREE, action: gym.Space[Any] = TWO) -> None:
        self.observation_space, self.action_space = deepcopy(observation), action  # each lane draws its own

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self.observation_space.seed(seed)
        return super().reset(seed=seed)

    def see(self) -> Any:
        return self.observation_space.sample()

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Any]:
        if not self.action_space.contains(action):
            raise ValueError(f"{action!r} is not in {self.action_space}")
        return super().step(action)

    def info(self) -> dict[str, Any]:
        return {}
