"""A run and what it was trained with: saved, loaded, taken apart, played."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.chance_spaces import boxes, discrete, nested
from support.fixtures import refusal
from support.probes import TWO, AnySpace
from support.training import cart, same
from torch import Tensor, nn

from tricks import EVERY, PPO, REINFORCE, Config, Run, load, train
from tricks.core.nets import Dense, Layer
from tricks.core.rollout import Player, play_episodes
from tricks.core.spaces import Spaces, from_plain, to_plain
from tricks.envs.make import make_env
from tricks.runs.about import read_back
from tricks.state_norm import ObsStats


@pytest.fixture(scope="module")
def run() -> Run:
    return train(Config(env="ShortCartPole-v0", seeds=(3, 1), steps=600, lanes=4, horizon=16, hidden=(16,)), EVERY)


def test_a_saved_run_acts_the_same_and_keeps_its_statistics(run: Run) -> None:
    run.save("deep/run")
    again, obs = load("deep/run"), np.random.default_rng(0).normal(size=(2, 50, 4))
    one, other = (r.agent.act(obs, rng=np.random.default_rng(1)) for r in (run, again))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(run.agent.act(obs), again.agent.act(obs))
    assert cast(ObsStats, again.agent.obs_stats).rows.min() > 0
    same(again, run)
    np.testing.assert_array_equal(again.evaluate(3), run.evaluate(3))


def test_a_run_with_a_rate_per_seed_is_loaded_evaluated_and_taken_apart() -> None:
    numbers: dict[str, Any] = {"steps": 200, "lanes": 2, "horizon": 16, "hidden": (8,), "lr": (0.01, 0.002)}
    run = train(Config("ShortCartPole-v0", seeds=(3, 1), **numbers), PPO)
    run.save("x")
    again = load("x")
    assert again.config.rates == (0.01, 0.002)
    np.testing.assert_array_equal(again.evaluate(2), run.evaluate(2))
    alone = again.only(1)
    assert (alone.config.rates, set(alone.curve.seed)) == ((0.002,), {1})
    np.testing.assert_array_equal(alone.evaluate(2)[0], run.evaluate(2)[1])
    diverged = replace(run, diverged={3: 3, 1: 5})
    assert (diverged.only().diverged, diverged.only(1).diverged) == ({3: 3}, {1: 5})
    refusal("the run has no seed 7; it has 3, 1", run.only, 7)


def test_one_agent_of_the_stack_acts_as_the_stack_does(run: Run) -> None:
    obs = np.random.default_rng(0).normal(size=(2, 20, 4))
    for k in (0, 1, -1):
        np.testing.assert_array_equal(run.agent[k].act(obs[k]), run.agent.act(obs)[k])
    assert run.agent[0].act(obs[0, 0]).shape == ()
    refusal("picks one", run.agent.act, obs[0])


def test_an_evaluation_plays_whole_games_however_many_segments_they_take(run: Run) -> None:
    config = replace(run.config, env="CartPole-v1")
    scores = replace(run, config=config).evaluate(4)
    player = Player(make_env(replace(config, lanes=4), "evaluation"), config.horizon, "evaluation")
    whole = play_episodes(player, lambda obs, legal: run.agent.policy(obs), 1, torch.ones(2) > 0)
    np.testing.assert_array_equal(scores, whole.score.sum(1))
    assert scores.max() > 2 * config.horizon


def test_an_evaluation_with_frozen_statistics_matches_the_training_return() -> None:
    run = train(Config(seeds=2, steps=60_000, lr=0.003), replace(EVERY, action_mask=False))
    late = run.curve[run.curve.step > 50_000]["return"].mean()
    assert late > 300  # it has learned something that bad statistics would spoil
    assert abs(run.evaluate(20).mean() - late) < 0.15 * late


TINY = Config(seeds=(3, 1), steps=400, lanes=2, horizon=32, hidden=(8,), backend="gymnasium")


class Scaled(nn.Module):
    """The observation times one number per seed: [S, B, D] -> [S, B, D]."""

    def __init__(self, generators: Sequence[np.random.Generator], spaces: Spaces, width: int | None = None) -> None:
        super().__init__()
        self.width, self.scale = width or spaces.features, nn.Parameter(torch.ones(len(generators)))
        self.layers: list[Layer] = []

    def forward(self, obs: Tensor) -> Tensor:
        return obs * self.scale.view(-1, 1, 1)


def test_what_is_brought_is_played_and_learned_like_the_librarys_own() -> None:
    id = "ShortCartPole-v0"  # CartPole-v1 has vector rules of its own in Gymnasium
    mine = train(replace(TINY, env="my cart"), PPO, env=lambda: gym.make(id))
    pd.testing.assert_frame_equal(mine.curve, train(replace(TINY, env=id), PPO).curve)
    mine = train(TINY, PPO, body=lambda generators, spaces: Dense(generators, (spaces.features, *TINY.hidden)))
    pd.testing.assert_frame_equal(mine.curve, train(TINY, PPO).curve)


def test_a_body_may_have_one_number_per_seed_and_learns_it() -> None:
    scale = dict(train(TINY, REINFORCE, body=Scaled).agent.policy_net.named_parameters())["body.scale"]
    assert scale.shape == (2,)
    assert (scale != 1).all()
    assert scale[0] != scale[1]


def test_a_run_comes_back_with_what_was_brought_and_says_what_is_missing() -> None:
    run, obs = train(TINY, PPO, env=cart, body=Scaled), np.ones((2, 1, 4), np.float32)
    run.save("x")
    refusal("body=", load, "x", env=cart)
    back = load("x", env=cart, body=Scaled)
    assert (back.agent.act(obs) == run.agent.act(obs)).all()
    np.testing.assert_array_equal(back.evaluate(2), run.evaluate(2))


@pytest.mark.parametrize(
    ("brought", "said"),
    [
        ({"body": 3}, "must be a function"),
        ({"body": lambda generators, spaces: nn.Linear(4, 2)}, "with a width and layers, not Linear"),
        ({"body": partial(Scaled, width=99)}, r"\[2, 3, 4\] to \[2, 3, 4\]; \[S, B, width\] is \[2, 3, 99\]"),
        ({"body": lambda generators, spaces: Scaled(generators[:1], spaces)}, "must lead with the seed axis"),
        ({"env": "CartPole-v1"}, "must be a function that makes a gymnasium.Env"),
        ({"env": lambda: 3}, "must make a gymnasium.Env, not int"),
        ({"env": type("Old", (), {"__module__": "gym.envs"})}, "gymnasium.Env, not Old; shimmy turns environments"),
    ],
)
def test_what_does_not_fit_is_one_line(brought: dict[str, Any], said: str) -> None:
    refusal(said, train, TINY, PPO, **brought)


def test_an_environment_of_ones_own_needs_a_backend_for_it() -> None:
    refusal("needs gymnasium or processes", train, replace(TINY, backend="tensor"), PPO, env=cart)


CONFIG = Config("own", seeds=1, steps=8, lanes=1, horizon=8, epochs=1, minibatches=1, hidden=(4,))
BIG = 2**62 + 1  # no float64 is this number


def parts(space: gym.Space[Any]) -> list[gym.Space[Any]]:
    """The spaces in a nested one, in their order, with the keys of Dicts."""
    if isinstance(space, Dict | Tuple):
        inner = space.spaces.values() if isinstance(space, Dict) else space.spaces
        return [part for one in inner for part in parts(one)]
    return [space]


@settings(settings(deadline=None, database=None, derandomize=True), max_examples=300)
@given(nested(1e300), st.one_of(boxes(1e300), discrete()))
@example(Box(-BIG, BIG, (2, 1), np.int64), TWO)
def test_a_space_is_read_as_it_was_written(space: gym.Space[Any], action: gym.Space[Any]) -> None:
    read_back(CONFIG, Spaces("x", space, action))  # run.json keeps every pair
    again = from_plain(json.loads(json.dumps(to_plain(space), allow_nan=False)))
    assert again == space
    for old, new in zip(parts(space), parts(again), strict=True):
        assert old.dtype == new.dtype
        if isinstance(old, Box):
            assert isinstance(new, Box)
            np.testing.assert_array_equal([new.low, new.high], [old.low, old.high])
    if isinstance(space, Dict):
        assert isinstance(again, Dict)
        assert list(again.spaces) == list(space.spaces)


def test_a_space_of_an_older_file_is_read() -> None:
    assert from_plain({"kind": "Discrete", "n": 6, "start": 2, "dtype": "int64"}) == Discrete(6, start=2)
    assert from_plain({"kind": "MultiBinary", "shape": [3]}) == MultiBinary(3)
    many = {"kind": "MultiDiscrete", "shape": [2], "dtype": "int64", "nvec": [3, 4], "start": [0, 1]}
    assert from_plain(many) == MultiDiscrete([3, 4], start=[0, 1])


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize <= 8, reason="long doubles are doubles here")
def test_a_space_that_cannot_be_kept_is_refused_before_training() -> None:
    long = Box(0, 1, (2,), np.longdouble)
    said = r"^own: no file can keep the \w+ of its observation space; make it float64$"
    refusal(said, train, CONFIG, PPO, env=partial(AnySpace, long))
