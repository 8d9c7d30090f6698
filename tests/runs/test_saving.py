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
from tricks.runs import folder as folders
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
        def change(*arguments: Any, **options: Any) -> Any:
            if next(count) == last:
                fail()
            return plain(*arguments, **options)

        return change

    for name in ("replace", "rename", "unlink", "mkdir", "rmdir"):
        patch.setattr(os, name, until(getattr(os, name)))
    patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # a killed process cleans up nothing


def test_wherever_a_save_stops_one_of_the_two_runs_is_there_whole(
    run: Run, other: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = []
    for last in itertools.count(1):
        folder = tmp_path / str(last)
        run.save(folder)
        (folder / "notes.txt").write_text("mine")
        (folder / folders.CHECKPOINT).write_text("of the other run")
        stopped = False
        with monkeypatch.context() as patch:
            step_by_step(patch, last)
            try:
                other.save(folder, overwrite=True)
            except Power:
                stopped = True
        found = load(folder)
        new = found.config == other.config
        assert found.curve.equals(other.curve if new else run.curve)
        folders.clean_up(folder)  # what any next command does
        assert load(folder).config == found.config
        assert names(folder) == sorted([*FILES, "notes.txt", *([] if new else [folders.CHECKPOINT])])
        outcomes.append(new)
        if not stopped:
            break
    assert outcomes == sorted(outcomes)  # from some point on it is the new one
    assert outcomes.count(False) > 5 < outcomes.count(True)


def test_a_finished_run_is_replaced_only_if_asked_and_the_new_one_is_kept_elsewhere(
    run: Run, other: Run, tmp_path: Path
) -> None:
    run.save(tmp_path)
    run.save(tmp_path)  # the same run again
    with pytest.raises(InputError, match=r"holds a finished run; add --overwrite .*; the run is saved in ") as refused:
        other.save(tmp_path)
    assert load(tmp_path).config == run.config
    elsewhere = Path(str(refused.value).rsplit(" ", 1)[1])
    assert load(elsewhere).config == other.config
    shutil.rmtree(elsewhere)
    other.save(tmp_path, overwrite=True)
    assert load(tmp_path).config == other.config


def test_a_run_that_cannot_be_written_is_saved_in_a_temporary_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run" / "agent.pt").mkdir(parents=True)  # which PyTorch answers with a RuntimeError
    with pytest.raises(InputError, match=r"agent\.pt: Is a directory; the run is saved in ") as refused:
        run.save(tmp_path / "run")
    elsewhere = Path(str(refused.value).rsplit(" ", 1)[1])
    assert load(elsewhere).curve.equals(run.curve)
    shutil.rmtree(elsewhere)


def test_the_home_directory_is_expanded(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    run.save("~/saved")
    assert names(tmp_path) == ["saved"]
    assert load("~/saved").config == run.config


def test_numbers_of_other_libraries_are_saved_as_plain_ones(tmp_path: Path) -> None:
    numbers: dict[str, Any] = {"steps": np.int64(60), "gamma": np.float32(0.5), "device": torch.device("cpu")}
    run = train(Config(**vars(TINY) | numbers | {"seeds": range(2)}), PPO)
    run.save(tmp_path)
    found = load(tmp_path).config
    assert (found.steps, found.gamma, found.device, found.seed_list) == (60, 0.5, "cpu", (0, 1))


def test_what_a_kill_left_behind_is_swept_up_and_nothing_else(run: Run, tmp_path: Path) -> None:
    dead, mine = 2**22 + 1, [".hidden", ".env.local.5", "notes"]  # no process of Linux has so high an id
    for name in (f".run.json.{HOST}.{dead}", f".curve.png.{HOST}.{dead}", ".lock", *mine):
        (tmp_path / name).write_text("")
    (tmp_path / f".saved.{HOST}.{dead}").mkdir()
    (tmp_path / f".saved.{HOST}.{dead}" / "agent.pt").write_text("half")
    (tmp_path / f".checkpoint.pt.{HOST}.1").write_text("")  # of a process that runs
    run.save(tmp_path)
    assert names(tmp_path) == sorted([*FILES, *mine, f".checkpoint.pt.{HOST}.1"])


def test_a_link_in_a_strangers_folder_is_not_written_through(run: Run, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    run.save(tmp_path / "run")
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "precious")
    folders.clean_up(tmp_path / "run")
    assert (tmp_path / "precious").read_text() == "mine"
