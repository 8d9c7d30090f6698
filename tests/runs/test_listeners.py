"""A run that is written down while it trains: its curve.csv, and TensorBoard's files."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from support.training import SMALL

from tricks import PPO, Checkpoints, Evaluation, InputError, resume, train
from tricks.runs.learning_curve import COLUMNS
from tricks.runs.listeners import CurveFile, TensorBoard, as_line, earlier_lines
from tricks.runs.log import Rows

PENDULUM = replace(SMALL, env="Pendulum-v1")
EVALUATED = Evaluation(300, 1)
HEADER = ",".join(COLUMNS) + "\n"


class Stop(BaseException):
    """Ends a training after an update."""


def test_the_file_has_all_rows_so_far_after_every_update_and_in_the_end_those_of_the_run(tmp_path: Path) -> None:
    file, count = CurveFile(tmp_path), 0

    def check(rows: Rows) -> None:
        nonlocal count
        file(rows)
        count += len(rows)
        found = pd.read_csv(tmp_path / "curve.csv")
        assert (tuple(found), len(found)) == (COLUMNS, count)

    run = train(PENDULUM, PPO, on_update=check, evaluation=EVALUATED)
    grown = (tmp_path / "curve.csv").read_text().splitlines()
    run.save(tmp_path / "saved")
    saved = (tmp_path / "saved" / "curve.csv").read_text().splitlines()
    assert grown[0] == saved[0]
    assert sorted(grown) == sorted(saved)  # every digit, in the order of time


def test_a_resumed_run_goes_on_where_its_checkpoint_was(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    train(PENDULUM, PPO, on_update=CurveFile(whole), evaluation=EVALUATED)
    file = CurveFile(cut)

    def stop(rows: Rows) -> None:
        file(rows)
        if rows[0]["update"] == 6:  # 700 steps; the checkpoint has 600
            raise Stop

    with pytest.raises(Stop):
        train(PENDULUM, PPO, checkpoints=Checkpoints(cut, 300), on_update=stop, evaluation=EVALUATED)
    with (cut / "curve.csv").open("a") as torn:
        torn.write("3,5,60")  # as a kill may leave it
    assert len((cut / "curve.csv").read_text().splitlines()) == 1 + 7 * 2 + 1
    resume(cut, on_update=CurveFile(cut))
    assert (cut / "curve.csv").read_bytes() == (whole / "curve.csv").read_bytes()


def test_an_earlier_run_in_the_folder_is_replaced_when_the_first_update_is_there(tmp_path: Path) -> None:
    for name in ("run.json", "agent.pt", "curve.png", "curve.csv", "notes.txt"):
        (tmp_path / name).write_text("old")
    file = CurveFile(tmp_path)
    assert len(list(tmp_path.iterdir())) == 5
    row = dict.fromkeys(COLUMNS, 0.5) | {"update": 0, "return": float("nan")}
    file([row])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curve.csv", "notes.txt"]
    assert (tmp_path / "curve.csv").read_text() == HEADER + as_line(row)


def test_of_another_file_nothing_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    assert earlier_lines(path, 3, HEADER) == []
    line = ",".join(map(str, range(len(COLUMNS)))) + "\n"  # of update 1
    for text, kept in {"": [], HEADER: [], "seed,update\n0,0\n": [], HEADER + line + "x\n": [line]}.items():
        path.write_text(text)
        assert earlier_lines(path, 3, HEADER) == kept
    assert earlier_lines(path, 1, HEADER) == []


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = CurveFile(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"^cannot write .*nowhere/curve\.csv: No such file or directory$"):
        file([dict.fromkeys(COLUMNS, 0)])


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


def test_tensorboard_is_told_each_seeds_numbers_and_no_nan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Writer.made = []
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    board = TensorBoard(tmp_path)
    run = train(PENDULUM, PPO, on_update=board)
    board.close()
    for writer, seed in zip(Writer.made, (3, 1), strict=True):
        part = run.curve[run.curve.seed == seed]
        assert (writer.folder, writer.closed) == (tmp_path / f"seed_{seed}", True)
        assert writer.purge_step == part["step"].iloc[0]  # what an interrupted run wrote from there on goes
        losses = [told[1:] for told in writer.told if told[0] == "value_loss"]
        assert losses == list(zip(part["value_loss"], part["step"], strict=True))
        known: Any = part.drop(columns=["seed", "step"]).notna().sum()
        assert len(writer.told) == known.sum()
        assert {name for name, *_ in writer.told} == set(known[known > 0].index)


def test_without_the_package_one_line_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r'^cannot import .*install it with: pip install "ppo-tricks\[tensorboard\]"$'):
        TensorBoard(tmp_path)


def test_the_package_can_read_what_was_written(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra `tensorboard` is not installed")
    accumulator = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")

    board = TensorBoard(tmp_path)
    run = train(PENDULUM, PPO, on_update=board)
    board.close()
    events = accumulator.EventAccumulator(str(tmp_path / "seed_1")).Reload()
    found = [(event.step, event.value) for event in events.Scalars("value_loss")]
    part = run.curve[run.curve.seed == 1]
    assert [step for step, _ in found] == part["step"].tolist()
    assert [x for _, x in found] == pytest.approx(part["value_loss"].tolist())
