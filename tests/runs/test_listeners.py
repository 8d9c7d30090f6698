"""A run that is written down while it trains: its curve.csv, and TensorBoard's files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from support.fixtures import Patch, refusal
from support.training import SMALL, Power, fail, scalars, writers

from tricks import PPO, Agent, Checkpoints, Evaluation, StopTraining, further, load, resume, train
from tricks.runs.learning_curve import COLUMNS, COUNTS
from tricks.runs.listeners import CurveFile, TensorBoard
from tricks.runs.log import Rows

PENDULUM = replace(SMALL, env="Pendulum-v1")
EVALUATED = Evaluation(300, 1)
CURVE = Path("curve.csv")


def test_the_file_has_all_rows_so_far_after_every_update_and_goes_on_where_a_checkpoint_was() -> None:
    file, count = CurveFile(Path()), 0

    def check(rows: Rows, agent: Agent) -> None:
        nonlocal count
        file(rows, agent)
        count += len(rows)
        found = pd.read_csv(CURVE)
        assert (tuple(found), len(found)) == (COLUMNS, count)

    run = train(PENDULUM, PPO, on_update=check, evaluation=EVALUATED)
    run.save("saved")
    grown, saved = CURVE.read_text().splitlines(), Path("saved/curve.csv").read_text().splitlines()
    assert grown[0] == saved[0]
    assert sorted(grown) == sorted(saved)  # every digit, in the order of time
    other, cut = CurveFile(Path("cut")), Path("cut/curve.csv")

    def stop(rows: Rows, agent: Agent) -> None:
        other(rows, agent)
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
    assert CURVE.read_text() == pd.DataFrame([row]).to_csv(index=False)


def test_a_file_that_cannot_be_written_is_named() -> None:
    write, row = CurveFile(Path("nowhere")), dict.fromkeys(COLUMNS, 0)
    refusal(r"^cannot write nowhere/curve\.csv: No such file or directory$", write, [row])


def test_tensorboard_is_told_each_seeds_numbers_and_no_nan(monkeypatch: Patch) -> None:
    written = writers(monkeypatch)
    board = TensorBoard(Path("x"))
    run = train(PENDULUM, PPO, on_update=board)
    board.close()
    for writer, seed in zip(written, (3, 1), strict=True):
        part = run.curve[run.curve.seed == seed]
        assert writer.folder == Path(f"x/seed_{seed}") and writer.close.called
        assert writer.purge_step == part["step"].iloc[0]  # what an interrupted run wrote from there on goes
        losses = [each[1:] for each in scalars(writer) if each[0] == "value_loss"]
        assert losses == list(zip(part["value_loss"], part["step"], strict=True))
        known: Any = part.drop(columns=["seed", "step"]).notna().sum()
        assert len(scalars(writer)) == known.sum()
        assert {name for name, *_ in scalars(writer)} == set(known[known > 0].index)


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
    others: list[Any] = [lambda: 0, lambda rows: 0, lambda rows, agent, more: 0, [].append]
    for other in others:
        said = r"^on_update must be a function of \(rows, agent\), not <"
        refusal(said, train, replace(SMALL, env="nothing-v0"), PPO, on_update=other)


def test_a_listener_hears_of_a_seed_until_it_is_done_and_what_it_raises_ends_the_run() -> None:
    seen: list[list[float]] = []

    def hear(rows: Rows, agent: Agent) -> None:
        seen.append([row["seed"] for row in rows])

    run = train(replace(SMALL, lr=(1e38, 0.003)), PPO, on_update=hear)
    assert set(run.diverged) == {3}
    assert (seen[0], seen[-1]) == ([3, 1], [1])
    seen.clear()
    with pytest.raises(ZeroDivisionError):
        train(SMALL, PPO, on_update=lambda rows, agent: hear(rows, agent) or 1 / 0)  # type: ignore[func-returns-value]
    assert len(seen) == 1


@pytest.mark.parametrize("raised", [False, True])
def test_a_listener_that_says_stop_gets_the_run_so_far(raised: bool) -> None:
    def stop(rows: Rows, agent: Agent) -> bool | None:
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
