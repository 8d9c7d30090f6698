"""Saving, loading, acting and evaluating."""

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
import torch
from support.training import same

from tricks import EVERY, PPO, Config, InputError, Run, load, train
from tricks.core.agent import Agent
from tricks.core.moments import Moments
from tricks.core.rollout import Player, play_episodes
from tricks.envs.make import make_env
from tricks.ladder import named
from tricks.state_norm import ObsStats

SMALL = Config("ShortCartPole-v0", seeds=(3, 1), steps=200, lanes=2, horizon=16, hidden=(8,))


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
    run = train(replace(SMALL, lr=(0.01, 0.002)), PPO)
    run.save("x")
    again = load("x")
    assert again.config.rates == (0.01, 0.002)
    np.testing.assert_array_equal(again.evaluate(2), run.evaluate(2))
    alone = again.only(1)
    assert (alone.config.rates, set(alone.curve.seed)) == ((0.002,), {1})
    np.testing.assert_array_equal(alone.evaluate(2)[0], run.evaluate(2)[1])
    diverged = replace(run, diverged={3: 3, 1: 5})
    assert (diverged.only().diverged, diverged.only(1).diverged) == ({3: 3}, {1: 5})
    with pytest.raises(InputError, match="the run has no seed 7; it has 3, 1"):
        run.only(7)


def test_games_are_played_without_a_compiler(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda *_, **__: pytest.fail("something was compiled"))
    np.testing.assert_array_equal(replace(run, config=replace(run.config, compile=True)).evaluate(2), run.evaluate(2))


def test_loading_makes_no_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.save("x")
    monkeypatch.setattr("gymnasium.make", lambda *_, **__: pytest.fail("an environment was made"))
    monkeypatch.setattr("gymnasium.spec", lambda *_, **__: pytest.fail("an environment was looked up"))
    assert load("x").agent.spaces == run.agent.spaces


@pytest.mark.parametrize("name", ["ppo", "state_norm"])
def test_a_run_saved_when_all_agents_had_statistics_of_observations_is_loaded(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train(SMALL, named(name))
    unused = dict(zip(("obs_rows", "obs_average", "obs_squares"), Moments.empty(2, 4), strict=True))
    state = {key.replace("obs_stats.", "obs_"): tensor for key, tensor in run.agent.state_dict().items()}
    with monkeypatch.context() as patch:
        patch.setattr(Agent, "state_dict", lambda self: unused | state)
        run.save("x")
    obs = np.random.default_rng(0).normal(size=(2, 50, 4))
    np.testing.assert_array_equal(load("x").agent.act(obs), run.agent.act(obs))


def test_one_agent_of_the_stack_acts_as_the_stack_does_in_the_shape_of_the_space(run: Run) -> None:
    obs = np.random.default_rng(0).normal(size=(2, 20, 4))
    for k in (0, 1, -1):
        np.testing.assert_array_equal(run.agent[k].act(obs[k]), run.agent.act(obs)[k])
    assert run.agent[0].act(obs[0, 0]).shape == ()
    with pytest.raises(InputError, match="picks one"):
        run.agent.act(obs[0])
    agent = train(Config(env="Pendulum-v1", seeds=1, steps=64, lanes=2, horizon=16), PPO).agent
    assert agent.act(np.zeros(3)).shape == (1,)
    assert agent.act(np.zeros((5, 3)), rng=np.random.default_rng(0)).shape == (5, 1)


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
