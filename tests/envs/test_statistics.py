"""A wrapper with running statistics is refused, wherever it stands, and one without is not."""

from collections.abc import Callable
from functools import partial
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import (
    FrameStackObservation,
    NormalizeObservation,
    NormalizeReward,
    TransformObservation,
    TransformReward,
)
from gymnasium.wrappers import RecordEpisodeStatistics as Record
from gymnasium.wrappers.utils import RunningMeanStd
from support.register import register

from tricks import PPO, Config, InputError, train
from tricks.cli.main import main
from tricks.envs.make import make_env

CONFIG = Config(seeds=2, lanes=2, horizon=8, steps=32, minibatches=2, backend="gymnasium")


class Walk(gym.Env):
    """Random observations; the reward is one of them."""

    observation_space, action_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32), gym.spaces.Discrete(2)

    def __init__(self) -> None:
        self.mean, self.std, self.n = 1.0, 2.0, 10  # numbers of its own, which are no statistics

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.t = 0
        return self.np_random.normal(self.mean, self.std, 2).astype(np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        obs = self.np_random.normal(self.mean, self.std, 2).astype(np.float32)
        return obs, float(obs[0]), self.t == 6, False, {}


class Welford:
    """Statistics under names of one's own."""

    def __init__(self) -> None:
        self.n, self.mean, self.m2 = 0, np.zeros(2), np.ones(2)

    def see(self, x: np.ndarray) -> np.ndarray:
        self.n += 1
        off = x - self.mean
        self.mean = self.mean + off / self.n
        self.m2 = self.m2 + off * (x - self.mean)
        return ((x - self.mean) / np.sqrt(self.m2 / self.n)).astype(np.float32)


class Own(gym.ObservationWrapper):
    """Keeps them in an object."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self.scaler = Welford()

    def observation(self, observation: np.ndarray) -> np.ndarray:
        return self.scaler.see(observation)


class Bare(gym.ObservationWrapper):
    """Keeps them as its own attributes, as a moving average, in a dictionary of its own."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self.state = {"obs_mean": np.zeros(2), "obs_var": np.ones(2)}

    def observation(self, observation: np.ndarray) -> np.ndarray:
        off = observation - self.state["obs_mean"]
        self.state["obs_mean"] = self.state["obs_mean"] + 0.1 * off
        self.state["obs_var"] = 0.9 * self.state["obs_var"] + 0.1 * off**2
        return (off / np.sqrt(self.state["obs_var"])).astype(np.float32)


class Range(gym.ObservationWrapper):
    """Scales by the smallest and largest so far."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self.low, self.high = np.full(2, np.inf), np.full(2, -np.inf)

    def observation(self, observation: np.ndarray) -> np.ndarray:
        self.low, self.high = np.minimum(self.low, observation), np.maximum(self.high, observation)
        return ((observation - self.low) / (self.high - self.low + 1)).astype(np.float32)


class Paid(gym.RewardWrapper):
    """Divides rewards by their running deviation."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self.mean, self.var, self.count = 0.0, 1.0, 1

    def reward(self, reward: SupportsFloat) -> float:
        self.count += 1
        off = float(reward) - self.mean
        self.mean += off / self.count
        self.var += (off * (float(reward) - self.mean) - self.var) / self.count
        return float(reward) / (self.var + 1e-8) ** 0.5


class Declared(gym.RewardWrapper):
    """The same, but the class says how they begin."""

    mean, var, count = 0.0, 1.0, 1
    reward = Paid.reward


def seen_by(env: gym.Env, see: Callable[[np.ndarray], np.ndarray]) -> gym.Env:
    return TransformObservation(env, see, env.observation_space)


def in_a_closure(env: gym.Env) -> gym.Env:
    scaler = Welford()
    return seen_by(env, lambda obs: scaler.see(obs))


KEEPERS: dict[str, tuple[Callable[[gym.Env], gym.Env], str]] = {
    "NormalizeObservation": (NormalizeObservation, "--state-norm"),
    "NormalizeReward": (NormalizeReward, "--reward-scaling"),
    "below others": (lambda env: Record(FrameStackObservation(NormalizeObservation(env), 2)), "state"),
    "two of them": (lambda env: NormalizeReward(NormalizeObservation(env)), "--reward-scaling"),
    "an object": (Own, "--state-norm"),
    "a dictionary": (Bare, "--state-norm"),
    "a range": (Range, "--state-norm"),
    "of rewards": (Paid, "--reward-scaling"),
    "declared by a class": (Declared, "--reward-scaling"),
    "a closure": (in_a_closure, "--state-norm"),
    "a method": (lambda env: seen_by(env, Welford().see), "--state-norm"),
    "a partial": (lambda env: seen_by(env, partial(Welford.see, Welford())), "--state-norm"),
}


@pytest.mark.parametrize(("wrap", "said"), KEEPERS.values(), ids=KEEPERS)
def test_running_statistics_are_refused_and_the_trick_is_named(wrap: Any, said: str) -> None:
    with pytest.raises(InputError, match=r"keeps running statistics of its own in each lane, .* leave it out") as error:
        train(CONFIG, PPO, env=lambda: wrap(Walk()))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_those_of_an_id_and_of_workers_too(refuses: Callable[..., None]) -> None:
    register("Standardized-v0", lambda: NormalizeObservation(Walk()))
    for backend in ("gymnasium", "processes"):
        with pytest.raises(InputError, match="NormalizeObservation keeps running statistics"):
            make_env(Config("Standardized-v0", backend, seeds=1, lanes=1))
    arguments = ["train", "ppo", "--wrap", "gymnasium.wrappers:NormalizeObservation"]
    refuses(main, arguments, "use --state-norm")


class Fixed(gym.ObservationWrapper):
    """A mean and a deviation that were known beforehand."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self.mean, self.std, self.count = np.ones(2), np.full(2, 2.0), 0

    def observation(self, observation: np.ndarray) -> np.ndarray:
        self.count += 1
        return ((observation - self.mean) / self.std).astype(np.float32)


class Noted(gym.RewardWrapper):
    """Statistics that are only looked at."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self.seen = Welford()

    def reward(self, reward: SupportsFloat) -> float:
        self.seen.see(np.full(2, float(reward)))
        return float(reward)


def at_rest(env: gym.Env) -> gym.Env:
    wrapper = NormalizeObservation(env)
    wrapper.obs_rms = RunningMeanStd(shape=(2,))
    wrapper.update_running_mean = False
    return wrapper


HARMLESS: list[Callable[[gym.Env], gym.Env]] = [
    lambda env: env,
    Record,
    Fixed,
    Noted,
    at_rest,
    lambda env: TransformReward(env, lambda reward: 2 * float(reward)),
    lambda env: FrameStackObservation(env, 3),
]


@pytest.mark.parametrize("wrap", HARMLESS)
def test_what_does_not_change_with_what_it_sees_is_no_fault(wrap: Callable[[gym.Env], gym.Env]) -> None:
    assert len(train(CONFIG, PPO, env=lambda: wrap(Walk())).curve) > 1
