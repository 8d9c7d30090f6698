"""What a curve says about the numbers that move while a run trains, and what a listener sees of it."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from support.training import SMALL

from tricks import PPO, REINFORCE, Agent, Checkpoints, Config, StopTraining, Tricks, further, load, train
from tricks.core.policies import DiagonalGaussian
from tricks.core.rollout import Player, Rollout
from tricks.ladder import switched
from tricks.runs.learning_curve import COUNTS
from tricks.runs.log import Log, Rows, takes_two


def test_a_listener_gets_every_row_of_the_curve_in_order_and_changes_none() -> None:
    seen: list[Rows] = []
    run = train(SMALL, PPO, on_update=seen.append)
    assert [{row["update"] for row in rows} for rows in seen] == [{k} for k in range(len(seen))]
    rows = pd.DataFrame([row for rows in seen for row in rows])
    rows = rows.sort_values(["seed", "update"], ignore_index=True)
    pd.testing.assert_frame_equal(rows, run.curve, check_exact=True)
    pd.testing.assert_frame_equal(train(SMALL, PPO).curve, run.curve, check_exact=True)
    assert {type(row[name]) for rows in seen for row in rows for name in COUNTS} == {int}


def test_a_listener_hears_of_a_seed_until_it_is_done() -> None:
    seen: list[list[float]] = []
    run = train(
        replace(SMALL, lr=(1e38, 0.003)), PPO, on_update=lambda rows: seen.append([row["seed"] for row in rows])
    )
    assert set(run.diverged) == {3}
    assert seen[0] == [3, 1]
    assert seen[-1] == [1]


def test_what_a_listener_raises_ends_the_run() -> None:
    calls = []

    def stop(rows: Rows) -> None:
        calls.append(rows)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        train(SMALL, PPO, on_update=stop)
    assert len(calls) == 1


def test_a_listener_with_two_parameters_sees_the_agents_too() -> None:
    seen = []

    def watch(rows: Rows, agent: Agent) -> None:
        seen.append((len(rows), agent.policy_net.head.weight.detach().clone()))

    run = train(SMALL, PPO, on_update=watch)
    assert len(seen) == run.curve["update"].nunique()
    assert torch.equal(seen[-1][1], run.agent.policy_net.head.weight)
    assert not torch.equal(seen[0][1], seen[-1][1])
    others: list[Any] = [print, lambda rows, *more: 0, lambda rows, more=0: 0, [].append]
    assert [takes_two(each) for each in (watch, *others)] == [True, *[False] * 4]


@pytest.mark.parametrize("way", ["false", "raised"])
def test_a_listener_that_says_stop_gets_the_run_so_far(way: str, tmp_path: Path) -> None:
    def stop(rows: Rows) -> bool | None:
        if rows[0]["update"] < 2:
            return None  # as of a listener that says nothing
        if way == "raised":
            raise StopTraining
        return False

    run, whole = train(SMALL, PPO, on_update=stop, checkpoints=Checkpoints(tmp_path, 10**6)), train(SMALL, PPO)
    first = whole.curve[whole.curve["update"] <= 2].reset_index(drop=True)
    pd.testing.assert_frame_equal(run.curve, first, check_exact=True)
    assert run.diverged == {}
    run.save(tmp_path)
    assert load(tmp_path).agent[0].act([0.0] * 4) in (0, 1)
    rest = further(tmp_path, 100)
    assert rest.curve["update"].max() > 2


def numbers(tricks: Tricks) -> pd.DataFrame:
    """The curve of one seed."""
    config = Config("Pendulum-v1", seeds=1, steps=1000, lanes=2, horizon=50, hidden=(8,), lr=0.01, clip_range=0.3)
    return train(config, tricks).curve


def test_the_curve_has_each_updates_learning_rate_and_clip_range() -> None:
    curve = numbers(switched([*PPO.on, "clip_anneal"]))
    left = 1 - curve["step"].shift(fill_value=0) / 1000  # of the budget, before the update
    assert left.iloc[1] == 0.9
    assert curve["learning_rate"].tolist() == pytest.approx((0.01 * left).tolist(), rel=1e-5)
    assert curve["clip_range"].tolist() == pytest.approx((0.3 * left).tolist(), rel=1e-5)
    fixed = numbers(switched([name for name in PPO.on if name != "lr_anneal"]))
    assert fixed["learning_rate"].tolist() == pytest.approx([0.01] * len(fixed))
    assert fixed["clip_range"].tolist() == pytest.approx([0.3] * len(fixed))


def test_the_curve_has_the_statistics_of_the_returns() -> None:
    config = Config("ActionReward-v0", seeds=2, steps=640, lanes=4, horizon=16, hidden=(8,))
    run = train(config, switched(["baseline", "return_norm"]))
    last = run.curve.groupby("seed").last()
    assert last["return_mean"].tolist() == run.agent.return_stats.mean.tolist()
    assert last["return_std"].tolist() == run.agent.return_stats.std.tolist()
    first = run.curve.groupby("seed").first()  # β = 0.1 of the way from 0 to the mean return of the first batch
    assert first["return_mean"].tolist() == pytest.approx((0.1 * first["return"]).tolist())


@pytest.mark.parametrize("tricks", [REINFORCE, PPO], ids=["reinforce", "ppo"])
def test_the_curve_has_the_deviation_and_what_the_bounds_cut_off(
    tricks: Tricks, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = list[Rollout]()
    collect = Player.rollout

    def recording(self: Player, *arguments: Any, **named: Any) -> Rollout:
        played.append(collect(self, *arguments, **named))
        return played[-1]

    monkeypatch.setattr(Player, "rollout", recording)
    config = Config("Pendulum-v1", seeds=2, steps=900, lanes=3, horizon=50, lr=0.01, log_std_init=(0.0, 1.0))
    run = train(config, tricks)
    for seed, first in ((0, 1.0), (1, math.e)):
        curve = run.curve[run.curve.seed == seed]
        assert curve.action_std.iloc[0] == pytest.approx(first)
        assert curve.action_std.nunique() == len(curve) > 1
        for rollout, share in zip(played, curve.action_clip_fraction, strict=False):
            actions = rollout.action[seed][rollout.valid[seed]]  # [rows, 1]; torques beyond ±2 are cut off
            assert share == pytest.approx(float((actions.abs() > 2).float().mean()))
            assert 0 < share < 1


def test_the_deviation_is_a_mean_over_the_action_s_dimensions() -> None:
    logits = torch.tensor([9.0, 9.0, 0.0, math.log(3)])  # two means, two log σ
    assert DiagonalGaussian.std(logits).item() == pytest.approx(2)


def test_what_a_rung_does_not_have_is_nan() -> None:
    curve = numbers(REINFORCE)
    assert curve[["clip_range", "return_mean", "return_std", "eval_return"]].isna().all(axis=None)
    assert curve["learning_rate"].notna().all()


def test_a_checkpoint_with_other_columns_is_refused() -> None:
    log = Log(SMALL)
    state = log.state_dict()
    log.load_state_dict(state)
    with pytest.raises(ValueError, match="its curve has other columns"):
        log.load_state_dict(state | {"rows": state["rows"][:, 1:]})


def rollout_of(reward: list[list[float]], done: list[list[int]]) -> Rollout:
    """One seed; rows are steps, columns are lanes."""
    r, d = torch.tensor(reward).double()[None], torch.tensor(done).bool()[None]
    empty = torch.zeros(0)
    return Rollout(empty, empty, empty, r, d, torch.zeros_like(d), torch.ones_like(d), torch.zeros_like(d), r, d)


def test_episodes_are_summed_across_rollouts() -> None:
    log = Log(Config(seeds=1, lanes=2, steps=1000))
    for rollout in (
        rollout_of([[1, 10], [2, 20], [3, 30]], [[0, 0], [1, 0], [0, 0]]),  # lane 0 ends with 3
        rollout_of([[4, 40], [5, 50]], [[1, 0], [0, 0]]),  # lane 0 ends with 3 + 4
        rollout_of([[6, 60]], [[1, 1]]),  # 5 + 6, and 10 + ... + 60
    ):
        log.note(grad_norm=torch.ones(1), policy_loss=torch.ones(1))
        log.end_update(rollout)
    curve = log.curve()
    assert curve["return"].tolist() == [3, 7, (11 + 210) / 2]
    assert curve["length"].tolist() == [2, 2, 4]
    assert curve["episodes"].tolist() == [1, 1, 2]
    assert curve["step"].tolist() == [6, 10, 12]


def test_a_diagnostic_that_a_rung_lacks_is_nan_not_zero() -> None:
    config = Config(env="ShortCartPole-v0", seeds=1, steps=100, lanes=2, horizon=16)
    bare, ppo = train(config, REINFORCE).curve, train(config, PPO).curve
    lacking = ["value_loss", "approx_kl", "clip_fraction", "max_ratio", "explained_variance"]
    assert bare[lacking].isna().all(axis=None)
    assert bare[["action_std", "action_clip_fraction"]].isna().all(axis=None)  # its actions are Discrete
    assert bare[["policy_loss", "entropy", "grad_norm"]].notna().all(axis=None)
    assert ppo[[name for name in lacking if name != "explained_variance"]].notna().all(axis=None)


def test_a_seed_stops_when_its_budget_is_used() -> None:
    config = Config(env="ShortCartPole-v0", seeds=3, steps=500, lanes=4, horizon=16)
    for tricks in (REINFORCE, PPO):
        steps = train(config, tricks).curve.groupby("seed").step
        assert (steps.max() >= 500).all()
        assert (steps.apply(lambda s: s.iloc[-2]) < 500).all()
