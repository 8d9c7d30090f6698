"""A run is saved whole or not at all, wherever the save stops, and what is damaged afterwards is not loaded."""

import itertools
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.training import Power, fail

from tricks import PPO, Config, InputError, Run, load, train
from tricks.runs import files
from tricks.runs.files import HOST

TINY = Config("ShortCartPole-v0", seeds=(3, 1), steps=60, lanes=2, horizon=16, hidden=(4,))
FILES = ["agent.pt", "curve.csv", "last.pt", "run.json"]


@pytest.fixture(scope="module")
def run() -> Run:
    return train(TINY, PPO)


@pytest.fixture(scope="module")
def other() -> Run:
    return train(replace(TINY, lr=0.01), PPO)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def step_by_step(patch: pytest.MonkeyPatch, last: int) -> None:
    """The power goes off at the `last`-th change of a name on the disk."""
    count = itertools.count(1)

    def until(plain: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **options: fail() if next(count) == last else plain(*arguments, **options)

    for name in ("replace", "rename", "unlink", "mkdir", "rmdir"):
        patch.setattr(os, name, until(getattr(os, name)))
    patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # a killed process cleans up nothing


def test_wherever_a_save_stops_one_of_the_two_runs_is_there_whole(
    run: Run, other: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes, stopped = [], True
    for last in itertools.count(1):
        folder = Path(str(last))
        run.save(folder)
        (folder / "notes.txt").write_text("mine")
        (folder / files.CHECKPOINT).write_text("of the other run")
        with monkeypatch.context() as patch:
            step_by_step(patch, last)
            try:
                other.save(folder, overwrite=True)
                stopped = False
            except Power:
                pass
        found = load(folder)
        new = found.config == other.config
        assert found.curve.equals(other.curve if new else run.curve)
        files.clean_up(folder)  # what any next command does
        assert load(folder).config == found.config
        assert names(folder) == sorted([*FILES, "notes.txt", *([] if new else [files.CHECKPOINT])])
        outcomes.append(new)
        if not stopped:
            break
    assert outcomes == sorted(outcomes)  # from some point on it is the new one
    assert outcomes.count(False) > 5 < outcomes.count(True)


def elsewhere(run: Run, folder: str, said: str) -> None:
    """The run cannot be saved in the folder, and is kept in a temporary one."""
    with pytest.raises(InputError, match=rf"{said}.*; the run is saved in ") as refused:
        run.save(folder)
    spare = Path(str(refused.value).rsplit(" ", 1)[1])
    assert (load(spare).config, load(spare).curve.equals(run.curve)) == (run.config, True)
    shutil.rmtree(spare)


def test_a_run_that_cannot_be_saved_where_it_should_is_kept_elsewhere(run: Run, other: Run) -> None:
    for _ in range(2):  # the same run again
        run.save("x")
    elsewhere(other, "x", "holds a finished run; add --overwrite ")
    assert load("x").config == run.config
    other.save("x", overwrite=True)
    assert load("x").config == other.config
    Path("run/agent.pt").mkdir(parents=True)  # which PyTorch answers with a RuntimeError
    elsewhere(run, "run", r"agent\.pt: Is a directory")
    Path("file").touch()
    elsewhere(run, "file/below", "cannot make the folder file/below: a file is in its place")


def test_numbers_of_other_libraries_are_saved_as_plain_ones() -> None:
    numbers: dict[str, Any] = {"steps": np.int64(60), "gamma": np.float32(0.5), "device": torch.device("cpu")}
    train(Config(**vars(TINY) | numbers | {"seeds": range(2)}), PPO).save("x")
    found = load("x").config
    assert (found.steps, found.gamma, found.device, found.seed_list) == (60, 0.5, "cpu", (0, 1))


def test_what_a_kill_left_behind_is_swept_up_and_nothing_else(run: Run) -> None:
    dead, mine = 2**22 + 1, [".hidden", ".env.local.5", "notes"]  # no process of Linux has so high an id
    running, half, folder = f".checkpoint.pt.{HOST}.1", Path(f"x/.saved.{HOST}.{dead}"), Path("x")
    half.mkdir(parents=True)
    (half / "agent.pt").write_text("half")
    for name in (f".run.json.{HOST}.{dead}", f".curve.png.{HOST}.{dead}", ".lock", running, *mine):
        (folder / name).write_text("")
    run.save(folder)
    assert names(folder) == sorted([*FILES, *mine, running])
    Path("precious").write_text("mine")
    (folder / ".lock").symlink_to(Path("precious").absolute())  # in a stranger's folder; it is not written through
    files.clean_up(folder)
    assert Path("precious").read_text() == "mine"
