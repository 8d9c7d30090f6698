"""A breach of Gymnasium's interface is explained: which call, what came, and what is expected."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import support.contracts as own
from support.contracts import Counting

from tricks import PPO, Config, InputError, train
from tricks.cli.main import main
from tricks.envs.contract import Contract

SMALL = Config(seeds=(3,), steps=40, lanes=2, horizon=10, hidden=(4,))

BREACHES = [
    (
        own.FourValues,
        r"step\(\) must return 5 values \(observation, reward, terminated, truncated, info\); this returned 4, "
        "as before Gymnasium 0.26",
    ),
    (
        own.OnlyAnObservation,
        r"reset\(\) must return \(observation, info\); this returned ndarray of shape \(3,\), as before Gymnasium 0.26",
    ),
    (own.TakesNoSeed, r"reset\(\) must take seed and options: def reset\(self, \*, seed=None, options=None\)"),
    (own.TwoRewards, r"the reward of step\(\) must be a number, not an array of shape \(2,\)"),
    (own.TooShort, r"the observation of reset\(\) has shape \(2,\), but its space has \(3,\)"),
    (own.Fractions, r"the observation of reset\(\) has dtype float32, but its space has uint8"),
]


@pytest.mark.parametrize("around", [lambda env: env, lambda env: gym.wrappers.TimeLimit(env, 3)])
@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
@pytest.mark.parametrize(("kind", "message"), BREACHES)
def test_a_breach_says_which_call_what_came_and_what_is_expected(
    kind: type[gym.Env], message: str, backend: str, around: Callable[[gym.Env], gym.Env]
) -> None:
    config = Config(seeds=(3,), steps=40, lanes=2, horizon=10, backend=backend)
    pattern = f"^{kind.__name__}: {message}.*; gymnasium.utils.env_checker.check_env finds such faults \\(seed 3\\)$"
    with pytest.raises(InputError, match=pattern):
        train(config, PPO, env=lambda: around(kind()))


def test_a_space_that_is_none_is_named() -> None:
    with pytest.raises(InputError, match=r"observation_space must be a gymnasium.Space, not 'Box\(3\)'"):
        train(SMALL, PPO, env=own.OldNames)


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_a_reward_in_an_array_of_one_is_a_number(backend: str) -> None:
    config = Config("RewardArray-v0", backend, seeds=1, steps=40, lanes=2, horizon=10)
    assert train(config, PPO).curve["return"].unique().tolist() == [5]


def test_what_the_environment_itself_raises_is_not_explained_away() -> None:
    with pytest.raises(
        InputError, match=r"^BreaksInAWorker: ValueError: the floor .+, in contracts.py, line \d+ \(seed 3\)$"
    ):
        train(SMALL, PPO, env=lambda: gym.wrappers.TimeLimit(own.BreaksInAWorker(), 3))


def test_a_lane_that_keeps_the_contract_passes_its_values_through() -> None:
    lane, bare = Contract(Counting()), Counting()
    assert np.array_equal(lane.reset(seed=1)[0], bare.reset(seed=1)[0])
    for _ in range(3):
        came, expected = lane.step(0), bare.step(0)
        assert np.array_equal(came[0], expected[0])
        assert came[1:] == expected[1:]


OBSERVED: list[tuple[gym.Space[Any], Any, str]] = [
    (gym.spaces.Dict({"a": gym.spaces.Discrete(3)}), {"b": 1}, "is the keys b, but its space has the keys a"),
    (
        gym.spaces.Dict({"a": gym.spaces.Box(0, 1, (2,))}),
        {"a": np.zeros(3)},
        r"at 'a' has shape \(3,\), but its space has \(2,\)",
    ),
    (gym.spaces.Tuple([gym.spaces.Discrete(2)] * 2), (1,), r"is \(1,\), but its space has 2 parts"),
    (gym.spaces.MultiBinary(3), None, r"is None, but its space has numbers of shape \(3,\)"),
]


@pytest.mark.parametrize(("space", "obs", "message"), OBSERVED)
def test_parts_of_an_observation_are_named(space: gym.Space[Any], obs: Any, message: str) -> None:
    class Seen(Counting):
        observation_space = space

        def seen(self) -> Any:
            return obs

    with pytest.raises(InputError, match=rf"^the observation of reset\(\) {message}"):
        Contract(Seen()).reset()


def test_a_fault_in_a_worker_prints_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        rest = ["--env", "BreaksInAWorker-v0", "--backend", "processes", "--seeds", "1", "--lanes", "2"]
        assert main(["train", "ppo", *rest]) == 2
    message = r"error: BreaksInAWorker-v0: ValueError: the floor gave way, in contracts.py, line \d+ \(seed 0\)\n"
    assert re.fullmatch(message, capfd.readouterr().err)
