"""A run that is written down while it trains: its curve.csv, and TensorBoard's files."""

import importlib
import math
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch
from support.training import SMALL, Power, fail

from tricks import (
    PPO,
    REINFORCE,
    Agent,
    Checkpoints,
    Config,
    Evaluation,
    InputError,
    StopTraining,
    Tricks,
    further,
    load,
    resume,
    train,
)
from tricks.core.policies import DiagonalGaussian
from tricks.core.rollout import Player, Rollout
from tricks.ladder import switched
from tricks.runs.learning_curve import COLUMNS, COUNTS
from tricks.runs.listeners import CurveFile, TensorBoard, as_line, earlier_lines
from tricks.runs.log import Log, Rows, takes_two

PENDULUM = replace(SMALL, env="Pendulum-v1")
EVALUATED = Evaluation(300, 1)
HEADER = ",".join(COLUMNS) + "\n"
CURVE = Path("curve.csv")


def test_the_file_has_all_rows_so_far_after_every_update_and_goes_on_where_a_checkpoint_was() -> None:
    file, count = CurveFile(Path()), 0

    def check(rows: Rows) -> None:
        nonlocal count
        file(rows)
        count += len(rows)
        found = pd.read_csv(CURVE)
        assert (tuple(found), len(found)) == (COLUMNS, count)

    run = train(PENDULUM, PPO, on_update=check, evaluation=EVALUATED)
    run.save("saved")
    grown, saved = CURVE.read_text().splitlines(), Path("saved/curve.csv").read_text().splitlines()
    assert grown[0] == saved[0]
    assert sorted(grown) == sorted(saved)  # every digit, in the order of time
    other, cut = CurveFile(Path("cut")), Path("cut/curve.csv")

    def stop(rows: Rows) -> None:
        other(rows)
        if rows[0]["update"] == 6:  # 700 steps; the checkpoint has 600
            fail()

    with pytest.raises(Power):
        train(PENDULUM, PPO, checkpoints=Checkpoints("cut", 300), on_update=stop, evaluation=EVALUATED)
    with cut.open("a") as torn:
        torn.write("3,5,60")  # as a kill may leave it
    assert len(cut.read_text().splitlines()) == 1 + 7 * 2 + 1
    resume("cut", on_update=CurveFile(Path("cut")))
    assert cut.read_bytes() == CURVE.read_bytes()


def test_an_earlier_run_in_the_folder_is_replaced_when_the_first_update_is_there() -> None:
    for name in ("run.json", "agent.pt", "curve.png", "curve.csv", "notes.txt"):
        Path(name).write_text("old")
    file = CurveFile(Path())
    assert len(list(Path().iterdir())) == 5
    row = dict.fromkeys(COLUMNS, 0.5) | {"update": 0, "return": float("nan")}
    file([row])
    assert sorted(path.name for path in Path().iterdir()) == ["curve.csv", "notes.txt"]
    assert CURVE.read_text() == HEADER + as_line(row)


def test_of_another_file_nothing_is_kept_and_one_that_cannot_be_written_is_named() -> None:
    assert earlier_lines(CURVE, 3, HEADER) == []
    line = ",".join(map(str, range(len(COLUMNS)))) + "\n"  # of update 1
    for text, kept in {"": [], HEADER: [], "seed,update\n0,0\n": [], HEADER + line + "x\n": [line]}.items():
        CURVE.write_text(text)
        assert earlier_lines(CURVE, 3, HEADER) == kept
    assert earlier_lines(CURVE, 1, HEADER) == []
    with pytest.raises(InputError, match=r"^cannot write nowhere/curve\.csv: No such file or directory$"):
        CurveFile(Path("nowhere"))([dict.fromkeys(COLUMNS, 0)])


class Writer:
    """Keeps what it is told."""

    made: list["Writer"]

    def __init__(self, folder: str, purge_step: int) -> None:
        self.folder, self.purge_step, self.closed = Path(folder), purge_step, False
        self.told: list[tuple[str, float, int]] = []
        self.made.append(self)

    def add_scalar(self, name: str, x: float, step: int) -> None:
        self.told.append((name, x, step))

    def close(self) -> None:
        self.closed = True


def test_tensorboard_is_told_each_seeds_numbers_and_no_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    Writer.made = []
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    board = TensorBoard(Path("x"))
    run = train(PENDULUM, PPO, on_update=board)
    board.close()
    for writer, seed in zip(Writer.made, (3, 1), strict=True):
        part = run.curve[run.curve.seed == seed]
        assert (writer.folder, writer.closed) == (Path(f"x/seed_{seed}"), True)
        assert writer.purge_step == part["step"].iloc[0]  # what an interrupted run wrote from there on goes
        losses = [told[1:] for told in writer.told if told[0] == "value_loss"]
        assert losses == list(zip(part["value_loss"], part["step"], strict=True))
        known: Any = part.drop(columns=["seed", "step"]).notna().sum()
        assert len(writer.told) == known.sum()
        assert {name for name, *_ in writer.told} == set(known[known > 0].index)


def test_the_package_can_read_what_was_written() -> None:
    pytest.importorskip("tensorboard", reason="the extra `tensorboard` is not installed")
    accumulator = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")
    board = TensorBoard(Path("x"))
    run = train(PENDULUM, PPO, on_update=board)
    board.close()
    events = accumulator.EventAccumulator("x/seed_1").Reload()
    found = [(event.step, event.value) for event in events.Scalars("value_loss")]
    part = run.curve[run.curve.seed == 1]
    assert [step for step, _ in found] == part["step"].tolist()
    assert [x for _, x in found] == pytest.approx(part["value_loss"].tolist())


def test_a_listener_gets_every_row_and_the_agents_and_changes_none() -> None:
    seen, heads = list[Rows](), list[torch.Tensor]()

    def watch(rows: Rows, agent: Agent) -> None:
        seen.append(rows)
        heads.append(agent.policy_net.head.weight.detach().clone())

    run = train(SMALL, PPO, on_update=watch)
    assert [{row["update"] for row in rows} for rows in seen] == [{k} for k in range(len(seen))]
    rows = pd.DataFrame([row for rows in seen for row in rows]).sort_values(["seed", "update"], ignore_index=True)
    pd.testing.assert_frame_equal(rows, run.curve, check_exact=True)
    pd.testing.assert_frame_equal(train(SMALL, PPO).curve, run.curve, check_exact=True)
    assert {type(row[name]) for rows in seen for row in rows for name in COUNTS} == {int}
    assert torch.equal(heads[-1], run.agent.policy_net.head.weight)
    assert not torch.equal(heads[0], heads[-1])
    others: list[Any] = [print, lambda rows, *more: 0, lambda rows, more=0: 0, [].append]
    assert [takes_two(each) for each in (watch, *others)] == [True, *[False] * 4]


def test_a_listener_hears_of_a_seed_until_it_is_done_and_what_it_raises_ends_the_run() -> None:
    seen: list[list[float]] = []

    def hear(rows: Rows) -> None:
        seen.append([row["seed"] for row in rows])

    run = train(replace(SMALL, lr=(1e38, 0.003)), PPO, on_update=hear)
    assert set(run.diverged) == {3}
    assert (seen[0], seen[-1]) == ([3, 1], [1])
    seen.clear()
    with pytest.raises(ZeroDivisionError):
        train(SMALL, PPO, on_update=lambda rows: hear(rows) or 1 / 0)  # type: ignore[func-returns-value]
    assert len(seen) == 1


@pytest.mark.parametrize("raised", [False, True])
def test_a_listener_that_says_stop_gets_the_run_so_far(raised: bool) -> None:
    def stop(rows: Rows) -> bool | None:
        if rows[0]["update"] < 2:
            return None  # as of a listener that says nothing
        if raised:
            raise StopTraining
        return False

    run, whole = train(SMALL, PPO, on_update=stop, checkpoints=Checkpoints("x", 10**6)), train(SMALL, PPO)
    first = whole.curve[whole.curve["update"] <= 2].reset_index(drop=True)
    pd.testing.assert_frame_equal(run.curve, first, check_exact=True)
    assert run.diverged == {}
    run.save("x")
    assert load("x").agent[0].act([0.0] * 4) in (0, 1)
    assert further("x", 100).curve["update"].max() > 2


def numbers(tricks: Tricks) -> pd.DataFrame:
    """The curve of one seed."""
    config = Config("Pendulum-v1", seeds=1, steps=1000, lanes=2, horizon=50, hidden=(8,), lr=0.01, clip_range=0.3)
    return train(config, tricks).curve


def test_the_curve_has_each_updates_learning_rate_and_clip_range() -> None:
    curve = numbers(switched([*PPO.on, "clip_anneal"]))
    left = 1 - curve["step"].shift(fill_value=0) / 1000  # of the budget, before the update
    assert left.iloc[1] == 0.9
    fixed = numbers(switched([name for name in PPO.on if name != "lr_anneal"]))
    for each, share in ((curve, left), (fixed, 1 + 0 * fixed["step"])):
        assert each["learning_rate"].tolist() == pytest.approx((0.01 * share).tolist(), rel=1e-5)
        assert each["clip_range"].tolist() == pytest.approx((0.3 * share).tolist(), rel=1e-5)


def test_the_curve_has_the_statistics_of_the_returns() -> None:
    config = Config("ActionReward-v0", seeds=2, steps=640, lanes=4, horizon=16, hidden=(8,))
    run = train(config, switched(["baseline", "return_norm"]))
    last, first = (getattr(run.curve.groupby("seed"), which)() for which in ("last", "first"))
    assert last["return_mean"].tolist() == run.agent.return_stats.mean.tolist()
    assert last["return_std"].tolist() == run.agent.return_stats.std.tolist()
    # β = 0.1 of the way from 0 to the mean return of the first batch
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
    logits = torch.tensor([9.0, 9.0, 0.0, math.log(3)])  # two means, two log σ: the mean over the action's dimensions
    assert DiagonalGaussian.std(logits).item() == pytest.approx(2)


def rollout_of(reward: list[list[float]], done: list[list[int]]) -> Rollout:
    """One seed; rows are steps, columns are lanes. What is learned from differs."""
    r, d = torch.tensor(reward).double()[None], torch.tensor(done).bool()[None]
    empty, no = torch.zeros(0), torch.zeros_like(d)
    return Rollout(empty, empty, empty, r.sign(), ~d, no, ~no, no, r, d)


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


def test_what_a_rung_lacks_is_nan_not_zero() -> None:
    config = Config(env="ShortCartPole-v0", seeds=1, steps=100, lanes=2, horizon=16)
    bare, ppo = train(config, REINFORCE).curve, train(config, PPO).curve
    lacking = ["value_loss", "approx_kl", "clip_fraction", "max_ratio"]
    assert bare[[*lacking, "explained_variance", "clip_range", "return_mean", "return_std"]].isna().all(axis=None)
    assert bare[["action_std", "action_clip_fraction", "eval_return"]].isna().all(axis=None)  # actions are Discrete
    assert bare[["policy_loss", "entropy", "grad_norm", "learning_rate"]].notna().all(axis=None)
    assert ppo[lacking].notna().all(axis=None)


def test_a_seed_stops_when_its_budget_is_used() -> None:
    config = Config(env="ShortCartPole-v0", seeds=3, steps=500, lanes=4, horizon=16)
    for tricks in (REINFORCE, PPO):
        steps = train(config, tricks).curve.groupby("seed").step
        assert (steps.max() >= 500).all()
        assert (steps.apply(lambda s: s.iloc[-2]) < 500).all()
