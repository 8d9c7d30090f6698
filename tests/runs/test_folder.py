"""A run's folder: one process at a time, and a run that is saved whole or not at all, wherever the save stops."""

import errno
import gc
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from support.commands import until
from support.fixtures import Capture, Patch, refusal
from support.training import SMALL, Power, cart, fail, interrupted, same

from tricks import PPO, Checkpoints, Config, Run, Spaces, load, resume, train
from tricks.core.nets import Dense
from tricks.runs import files
from tricks.runs.files import CHECKPOINT, HOST, hold, opened

HERE, LOCK = Path("x"), Path("x", files.LOCK)
HOLD = """
import os, sys, time
from pathlib import Path
from tricks.runs.files import hold
release = hold(Path(sys.argv[1])).close
worker = os.fork() if sys.argv[2] == "fork" else 1
if not worker:
    release()
os.write(1, b"%d\\n" % worker)
time.sleep(600)
"""


def holding(how: str) -> tuple[subprocess.Popen[str], set[int]]:
    """A process that holds the folder, and its workers, of which one that was forked has tried to release it."""
    first = subprocess.Popen([sys.executable, "-c", HOLD, HERE, how], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    return first, {int(first.stdout.readline()) for _ in range(2 if how == "fork" else 1)} - {0, 1}


def test_a_second_process_is_told_of_the_first_until_that_is_killed(monkeypatch: Patch) -> None:
    interrupted(HERE, SMALL, PPO, 2, monkeypatch)
    finished = train(SMALL, PPO)
    first, _ = holding("alone")
    for use in (lambda: resume(HERE), lambda: Checkpoints(HERE, 9), lambda: finished.save(HERE)):
        refusal(f"^x is in use: process {first.pid} on ", use)
    first.kill()
    first.communicate()
    assert LOCK.exists()  # and it locks nothing
    same(resume(HERE), finished)
    finished.save(HERE)
    assert sorted(path.name for path in HERE.iterdir()) == ["agent.pt", "curve.csv", "last.pt", "run.json"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_worker_neither_releases_the_lock_nor_keeps_it() -> None:
    HERE.mkdir()
    first, (worker,) = holding("fork")
    try:
        refusal(f"is in use: process {first.pid} on ", hold, HERE)
        first.kill()
        first.wait()
        hold(HERE).close()
    finally:
        os.kill(worker, signal.SIGKILL)


def test_one_process_may_hold_a_folder_several_times_and_checkpoints_hold_it_as_long_as_they_exist() -> None:
    HERE.mkdir()
    release = hold(HERE).close
    with hold(HERE):
        assert LOCK.exists()
    assert LOCK.exists()
    release()
    assert not LOCK.exists()
    checkpoints = Checkpoints(HERE, 9)
    assert LOCK.exists()
    del checkpoints
    until(lambda: not LOCK.exists(), seconds=5)
    LOCK.mkdir()
    refusal(r"^cannot write to x: Is a directory$", hold, HERE)


@pytest.mark.skipif(sys.platform == "win32", reason="flock is of Unix")
def test_without_locks_nothing_is_locked(monkeypatch: Patch) -> None:
    HERE.mkdir()
    monkeypatch.setattr("fcntl.flock", Mock(side_effect=OSError(errno.ENOLCK, "No locks available")))
    release = hold(HERE).close
    with hold(HERE):
        pass
    release()
    assert not list(HERE.iterdir())


def body(generators: Sequence[np.random.Generator], spaces: Spaces) -> Dense:
    return Dense(generators, (spaces.features, 8))


@pytest.mark.parametrize(
    ("brought", "asks"),
    [
        ({"env": cart, "body": body}, [({}, r"body: resume\('.*', env=.*, body="), ({"body": body}, "add --env mod")]),
        ({"body": body}, [({}, "was started with a custom body")]),
    ],
)
def test_resuming_asks_for_what_the_run_had(brought: Any, asks: list[tuple[Any, str]], monkeypatch: Patch) -> None:
    interrupted(HERE, SMALL, PPO, 1, monkeypatch, **brought)
    for given, said in asks:
        refusal(said, resume, HERE, **given)
    assert resume(HERE, **brought).curve["step"].max() >= 900


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_training(capsys: Capture) -> None:
    def remove(rows: object, agent: object) -> None:
        if HERE.exists():
            LOCK.unlink()
            HERE.rmdir()

    run = train(SMALL, PPO, checkpoints=Checkpoints(HERE, 400), on_update=remove)
    same(run, train(SMALL, PPO))
    why = "No such file or directory; the training goes on without this checkpoint"
    assert capsys.readouterr().err == 2 * f"cannot write {HERE / CHECKPOINT}: {why}\n"


@pytest.mark.parametrize(
    ("path", "said"),
    [("x" * 300, "too long"), ("a\0b", r"not 'a\x00b'"), ("", "not ''"), (None, "not None"), ("~nobody-here/x", "~")],
)
def test_what_cannot_be_a_path_is_one_line(path: Any, said: str) -> None:
    for use in (load, resume, lambda path: Checkpoints(path, 9)):
        refusal(re.escape(said), use, path)


def test_a_folder_is_really_written_to_before_the_training(monkeypatch: Patch) -> None:
    HERE.mkdir()
    with opened(HERE):
        pass
    assert not list(HERE.iterdir())
    monkeypatch.setattr("os.fsync", Mock(side_effect=OSError(28, "No space left on device")))
    refusal(r"^cannot write to x: No space left on device$", Checkpoints, HERE, 9)
    assert not list(HERE.iterdir())


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


def step_by_step(patch: Patch, last: int) -> None:
    """The power goes off at the `last`-th change of a name on the disk."""
    count = itertools.count(1)

    def until(plain: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **options: fail() if next(count) == last else plain(*arguments, **options)

    for name in ("replace", "rename", "unlink", "mkdir", "rmdir"):
        patch.setattr(os, name, until(getattr(os, name)))
    patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # a killed process cleans up nothing


def test_wherever_a_save_stops_one_of_the_two_runs_is_there_whole(run: Run, other: Run, monkeypatch: Patch) -> None:
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
        gc.collect()  # of a process that has ended, no lock is left
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
    refused = refusal(rf"{said}.*; the run is saved in ", run.save, folder)
    spare = Path(refused.rsplit(" ", 1)[1])
    assert (load(spare).config, load(spare).curve.equals(run.curve)) == (run.config, True)
    shutil.rmtree(spare)


def test_a_run_that_cannot_be_saved_where_it_should_is_kept_elsewhere(run: Run, other: Run) -> None:
    for _ in range(2):  # the same run again
        run.save("x")
    elsewhere(other, "x", "--overwrite")
    assert load("x").config == run.config
    other.save("x", overwrite=True)
    assert load("x").config == other.config
    train(run.config, PPO, checkpoints=Checkpoints("later", 1))
    elsewhere(other, "later", "another training's checkpoint")
    run.save("later")
    assert load("later").config == run.config
    Path("run/agent.pt").mkdir(parents=True)  # which PyTorch answers with a RuntimeError
    elsewhere(run, "run", r"agent\.pt: Is a directory")
    Path("file").touch()
    elsewhere(run, "file/below", "cannot make the folder file/below: a file is in its place")


@pytest.mark.parametrize("part", ["agent", "curve"])
def test_a_run_with_the_curve_or_the_agents_of_another_is_not_the_same(part: str, run: Run, other: Run) -> None:
    run.save("x")
    elsewhere(replace(run, **{part: getattr(other, part)}), "x", "--overwrite")
    same(load("x"), run)


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
