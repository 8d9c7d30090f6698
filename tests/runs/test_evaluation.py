"""Evaluations in the middle of a training: what they measure, and that they change nothing."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from support.training import SMALL, UNMASKED, WHOLE_EPISODES

from tricks import ATARI, PPO, REINFORCE, Checkpoints, Config, Evaluation, InputError, Run, Tricks, resume, train
from tricks.ladder import named
from tricks.runs.log import Rows

KINDS = {
    "reinforce": REINFORCE,
    "ppo": PPO,
    "every": UNMASKED,
    "whole": WHOLE_EPISODES,
    "atari": ATARI,
    "ppg": named("ppg"),
}


def learned(run: Run) -> pd.DataFrame:
    return run.curve.drop(columns="eval_return")


@pytest.mark.parametrize("backend", ["tensor", "gymnasium"])
@pytest.mark.parametrize("tricks", KINDS.values(), ids=KINDS)
def test_an_evaluation_changes_nothing_that_is_learned(tricks: Tricks, backend: str) -> None:
    config = replace(SMALL, backend=backend, steps=450)
    plain, judged = train(config, tricks), train(config, tricks, evaluation=Evaluation(200, 3))
    assert judged.curve["eval_return"].notna().any()
    pd.testing.assert_frame_equal(learned(plain), learned(judged), check_exact=True)
    mine, theirs = plain.agent.state_dict(), judged.agent.state_dict()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


@pytest.mark.parametrize("tricks", [PPO, UNMASKED], ids=["ppo", "every"])
def test_it_is_what_the_agent_then_earns_greedily(tricks: Tricks) -> None:
    run = train(SMALL, tricks, evaluation=Evaluation(1, 4))
    last = run.curve.groupby("seed")["eval_return"].last()
    assert last[[3, 1]].tolist() == run.evaluate(4, greedy=True).mean(1).tolist()
    assert run.curve["eval_return"].notna().all()


def test_each_seed_is_evaluated_when_its_own_steps_are_due() -> None:
    curve = train(SMALL, WHOLE_EPISODES, evaluation=Evaluation(250, 1)).curve
    for _, part in curve.groupby("seed"):
        before = part["step"].shift(fill_value=0)
        due = part["step"] // 250 > before // 250
        assert part["eval_return"].notna().tolist() == due.tolist()
        assert 0 < due.sum() < len(part)
    assert len({tuple(part["eval_return"].notna()) for _, part in curve.groupby("seed")}) == 2  # each at its own times


def test_a_seeds_evaluation_does_not_depend_on_other_seeds() -> None:
    of = {
        seeds: train(replace(SMALL, seeds=seeds), WHOLE_EPISODES, evaluation=Evaluation(250, 3))
        for seeds in ((1,), (3, 1))
    }
    alone, stacked = (run.curve[run.curve.seed == 1]["eval_return"].tolist() for run in of.values())
    assert stacked == pytest.approx(alone, nan_ok=True)


def test_a_perfect_agent_is_told_from_a_lucky_one() -> None:
    """One state, and a reward of 1 or -1 by the action: whoever is greedy always earns the same."""
    config = Config("ActionReward-v0", seeds=4, steps=400, lanes=4, horizon=16, lr=0.05, hidden=(8,))
    curve = train(config, PPO, evaluation=Evaluation(50, 7)).curve
    assert set(curve["eval_return"].dropna()) <= {-1, 1}
    assert (curve.groupby("seed")["eval_return"].last() == 1).all()


def test_an_environment_of_ones_own_is_what_is_evaluated() -> None:
    """One step, and a reward of 7 whatever the action: no registered environment pays that."""

    class Seven(gym.Env):
        observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
        action_space = gym.spaces.Discrete(2)

        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
            return np.zeros(1, np.float32), {}

        def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
            return np.zeros(1, np.float32), 7.0, True, False, {}

    config = replace(SMALL, steps=200)
    run = train(config, PPO, env=Seven, evaluation=Evaluation(50, 2))
    assert set(run.curve["eval_return"].dropna()) == {7}


def test_a_resumed_run_goes_on_with_its_evaluations(tmp_path: Path) -> None:
    def stop(rows: Rows) -> None:
        if rows[0]["update"] == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SMALL, UNMASKED, checkpoints=Checkpoints(tmp_path, 200), on_update=stop, evaluation=Evaluation(150, 2))
    whole = train(SMALL, UNMASKED, evaluation=Evaluation(150, 2))
    pd.testing.assert_frame_equal(resume(tmp_path).curve, whole.curve, check_exact=True)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [((0, 3), "evaluations must be at least 1 step apart, not 0"), ((5, 0), "needs at least 1 episode, not 0")],
)
def test_numbers_out_of_range_are_one_line(numbers: tuple[int, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Evaluation(*numbers)


def test_an_agent_does_not_play_in_an_environment_of_other_spaces() -> None:
    run = replace(train(SMALL, PPO), env=lambda: gym.make("Acrobot-v1"))
    with pytest.raises(InputError, match=r"has the spaces Box.* and Discrete\(3\), but the agent was trained with Box"):
        run.evaluate(1)
