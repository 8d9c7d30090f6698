"""Saving, loading, acting and evaluating."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
import pytest
import torch
from support.pictured import untrained

from tricks import EVERY, PPO, Config, InputError, Run, load, train
from tricks.core.agent import Agent
from tricks.core.moments import Moments
from tricks.core.rollout import Player, play_episodes
from tricks.envs.make import make_env
from tricks.ladder import named
from tricks.state_norm import ObsStats


@pytest.fixture(scope="module")
def run() -> Run:
    return train(Config(env="ShortCartPole-v0", seeds=(3, 1), steps=600, lanes=4, horizon=16, hidden=(16,)), EVERY)


def test_a_saved_run_acts_the_same_and_keeps_its_statistics(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "deep" / "run")
    again = load(tmp_path / "deep" / "run")
    obs = np.random.default_rng(0).normal(size=(2, 50, 4))
    one, other = (r.agent.act(obs, rng=np.random.default_rng(1)) for r in (run, again))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(run.agent.act(obs), again.agent.act(obs))
    assert cast(ObsStats, again.agent.obs_stats).rows.min() > 0
    mine, theirs = run.agent.state_dict(), again.agent.state_dict()
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert (again.config, again.tricks, again.diverged) == (run.config, run.tricks, run.diverged)
    pd.testing.assert_frame_equal(again.curve, run.curve)
    np.testing.assert_array_equal(again.evaluate(3), run.evaluate(3))


def test_a_run_with_a_rate_per_seed_is_loaded_evaluated_and_taken_apart(tmp_path: Path) -> None:
    config = Config("ShortCartPole-v0", seeds=(3, 1), lr=(0.01, 0.002), steps=200, lanes=2, horizon=16, hidden=(8,))
    run = train(config, PPO)
    run.save(tmp_path)
    again = load(tmp_path)
    assert again.config.rates == (0.01, 0.002)
    np.testing.assert_array_equal(again.evaluate(2), run.evaluate(2))
    np.testing.assert_array_equal(again.only(1).evaluate(2)[0], run.evaluate(2)[1])


def test_games_are_played_without_a_compiler(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda *_, **__: pytest.fail("something was compiled"))
    np.testing.assert_array_equal(replace(run, config=replace(run.config, compile=True)).evaluate(2), run.evaluate(2))


def test_loading_makes_no_environment(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run.save(tmp_path)
    monkeypatch.setattr("gymnasium.make", lambda *_, **__: pytest.fail("an environment was made"))
    monkeypatch.setattr("gymnasium.spec", lambda *_, **__: pytest.fail("an environment was looked up"))
    assert load(tmp_path).agent.spaces == run.agent.spaces


@pytest.mark.parametrize("name", ["ppo", "state_norm"])
def test_a_run_saved_when_all_agents_had_statistics_of_observations_is_loaded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train(Config("ShortCartPole-v0", seeds=2, steps=64, lanes=2, horizon=16, hidden=(8,)), named(name))
    unused = dict(zip(("obs_rows", "obs_average", "obs_squares"), Moments.empty(2, 4), strict=True))
    state = {key.replace("obs_stats.", "obs_"): tensor for key, tensor in run.agent.state_dict().items()}
    with monkeypatch.context() as patch:
        patch.setattr(Agent, "state_dict", lambda self: unused | state)
        run.save(tmp_path)
    obs = np.random.default_rng(0).normal(size=(2, 50, 4))
    np.testing.assert_array_equal(load(tmp_path).agent.act(obs), run.agent.act(obs))


def test_one_agent_of_the_stack_acts_as_the_stack_does(run: Run) -> None:
    obs = np.random.default_rng(0).normal(size=(2, 20, 4))
    for k in (0, 1, -1):
        np.testing.assert_array_equal(run.agent[k].act(obs[k]), run.agent.act(obs)[k])
    assert run.agent[0].act(obs[0, 0]).shape == ()
    with pytest.raises(InputError, match="picks one"):
        run.agent.act(obs[0])


def test_box_actions_come_in_the_shape_of_the_space() -> None:
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


@pytest.mark.parametrize("damage", ["agent.pt", "run.json", "curve.csv", "everything"])
def test_a_damaged_or_missing_run_is_one_clear_line(run: Run, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "run"
    if damage != "everything":
        run.save(folder)
        (folder / damage).write_text("hello" if damage != "curve.csv" else run.curve[:1].to_csv(index=False))
    with pytest.raises(InputError, match="damaged: " if damage != "everything" else "no saved run in"):
        load(folder)


def test_a_folder_that_cannot_be_written_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file"):
        run.save(tmp_path / "file" / "below")


def test_one_seed_of_a_run_is_that_seeds_agent() -> None:
    run = untrained("Pictured-v0", PPO, lr=(0.1, 0.2))
    alone = run.only(2)
    assert alone.config.rates == (0.2,)
    obs = np.linspace(-1, 1, 9, dtype=np.float32).reshape(1, 9, 1)
    np.testing.assert_array_equal(alone.agent.act(obs), run.agent[1].act(obs))
    np.testing.assert_array_equal(alone.evaluate(4), run.evaluate(4)[1:])
    assert set(alone.curve.seed) == {2}


def test_of_the_seeds_that_diverged_one_seed_knows_only_its_own() -> None:
    run = untrained("Pictured-v0")
    diverged = replace(run, diverged={4: 3, 2: 5})
    assert diverged.only().diverged == {4: 3}
    assert diverged.only(2).diverged == {2: 5}
    with pytest.raises(InputError, match="the run has no seed 7; it has 4, 2"):
        run.only(7)
