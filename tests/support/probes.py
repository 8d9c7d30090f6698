"""Probe environments: so small that the values and the best policy are known."""

from typing import Any

import gymnasium as gym
import numpy as np


class Probe(gym.Env):
    """Two actions; one number to see. `answers` are pairs of an observation and its true value under π*."""

    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(2)
    gamma = 0.9
    answers: tuple[tuple[float, float], ...]
    best: tuple[tuple[float, int], ...] = ()  # pairs of an observation and the best action there
    length = 1

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.t, self.seen = 0, self.first()
        return np.array([self.seen], np.float32), {"action_mask": np.ones(2, np.int8)}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        reward = self.pay(int(action))
        self.t += 1
        self.seen = self.later()
        return np.array([self.seen], np.float32), reward, self.t == self.length, False, {}

    def first(self) -> float:
        return 0.0

    def later(self) -> float:
        return self.seen

    def pay(self, action: int) -> float:
        raise NotImplementedError


class OneState(Probe):
    """Always the same, always a reward of 1: does the value net learn at all?"""

    answers = ((0.0, 1.0),)

    def pay(self, action: int) -> float:
        return 1.0


class SeenReward(Probe):
    """The reward is what is seen: does the value depend on the observation?"""

    answers = ((-1.0, -1.0), (1.0, 1.0))

    def first(self) -> float:
        return float(self.np_random.choice([-1.0, 1.0]))

    def pay(self, action: int) -> float:
        return self.seen


class DelayedReward(Probe):
    """Two steps, and a reward of 1 at the end: is the return discounted?"""

    answers = ((-1.0, 0.9), (1.0, 1.0))
    length = 2

    def first(self) -> float:
        return -1.0

    def later(self) -> float:
        return 1.0

    def pay(self, action: int) -> float:
        return float(self.t == 1)


class ActionReward(Probe):
    """Action 1 pays 1 and action 0 takes 1: does the policy learn?"""

    answers = ((0.0, 1.0),)
    best = ((0.0, 1),)

    def pay(self, action: int) -> float:
        return 1.0 if action == 1 else -1.0


class SeenActionReward(Probe):
    """What is seen says which action pays: does the policy depend on the observation?"""

    answers = ((-1.0, 1.0), (1.0, 1.0))
    best = ((-1.0, 0), (1.0, 1))

    def first(self) -> float:
        return float(self.np_random.choice([-1.0, 1.0]))

    def pay(self, action: int) -> float:
        return 1.0 if (action == 1) == (self.seen > 0) else -1.0


class Endless(gym.Env):
    """Reward 1 for ever, and nothing to see; it is registered with a limit of one step."""

    observation_space: gym.Space[Any] = gym.spaces.Box(-1, 1, (1,))
    action_space: gym.Space[Any] = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {"action_mask": np.ones(2, np.int8)}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        return np.zeros(1, np.float32), 1.0, False, False, {}


class DeadOnTime(Endless):
    """Ends after its first step by itself, where its time limit would end it as well."""

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        return np.zeros(1, np.float32), 1.0, True, False, {}


class AllLegal(gym.Wrapper):
    """Gives a mask, so that action_mask can be on; everything is legal."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, info | {"action_mask": np.ones(2, np.int8)}


class Forbidding(gym.Env):
    """Four actions, of which chance forbids some; each forbidden one that is played costs 1. Five steps."""

    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(4)
    dead_end = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1, np.float32), self.info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        reward = 0.0 if self.mask[action] else -1.0
        self.t += 1
        return np.zeros(1, np.float32), reward, self.t == 5, False, self.info()

    def info(self) -> dict[str, np.ndarray]:
        self.mask = (self.np_random.random(4) < 0.5).astype(np.int8)
        self.mask[self.np_random.integers(4)] = 1
        if self.dead_end and self.t == 3:
            self.mask[:] = 0
        return {"action_mask": self.mask}


class DeadEnd(Forbidding):
    """After three steps nothing is legal any more."""

    dead_end = True


class ResetMask(Forbidding):
    """Gives its mask when it is reset, and at no other step; lanes end at different times."""

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        return np.zeros(1, np.float32), 0.0, bool(self.np_random.random() < 0.3), False, {}


class Broken(Endless):
    """Observations or rewards that turn into NaN after three steps."""

    def __init__(self, what: str) -> None:
        self.what, self.t = what, 0

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        bad = np.nan if self.t == 3 else 0.0
        obs = np.array([bad if self.what == "obs" else 0.0], np.float32)
        return obs, bad if self.what == "reward" else 0.0, self.t % 5 == 0, False, {}


class ThreeLives(Endless):
    """Four steps a life, 5 points a step; but what ends the first life costs 60."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        self.t = 0
        return super().reset(seed=seed)[0], {"lives": 3}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        points = 5.0 if self.t != 4 else -60.0
        return np.zeros(1, np.float32), points, self.t == 12, False, {"lives": 3 - self.t // 4}


PROBES = {
    f"{probe.__name__}-v0": probe for probe in (OneState, SeenReward, DelayedReward, ActionReward, SeenActionReward)
}
