"""A run's folder: one process at a time, and what an unfinished run in it says."""

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from support.training import SMALL, Power, interrupted, same
from support.waiting import until

from tricks import PPO, Checkpoints, InputError, load, resume, train
from tricks.core.nets import Dense
from tricks.core.spaces import Spaces
from tricks.runs import files
from tricks.runs.files import CHECKPOINT, hold, opened, take

HERE, LOCK = Path("x"), Path("x", files.LOCK)
HOLD = """
import os, sys, time
from pathlib import Path
from tricks.runs.files import take
release = take(Path(sys.argv[1]))
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


def test_a_second_process_is_told_of_the_first_until_that_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(HERE, SMALL, PPO, 2, monkeypatch)
    finished = train(SMALL, PPO)
    first, _ = holding("alone")
    for use in (lambda: resume(HERE), lambda: Checkpoints(HERE, 9), lambda: finished.save(HERE)):
        with pytest.raises(InputError, match=f"^x is in use: process {first.pid} on "):
            use()
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
        with pytest.raises(InputError, match=f"is in use: process {first.pid} on "):
            take(HERE)
        first.kill()
        first.wait()
        take(HERE)()
    finally:
        os.kill(worker, signal.SIGKILL)


def test_one_process_may_hold_a_folder_several_times_and_checkpoints_hold_it_as_long_as_they_exist() -> None:
    HERE.mkdir()
    release = take(HERE)
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
    with pytest.raises(InputError, match=r"^cannot write to x: Is a directory$"):
        take(HERE)


@pytest.mark.skipif(sys.platform == "win32", reason="flock is of Unix")
def test_without_locks_nothing_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    HERE.mkdir()
    monkeypatch.setattr("fcntl.flock", refuse)
    release = take(HERE)
    with hold(HERE):
        pass
    release()
    assert not list(HERE.iterdir())


def body(generators: Sequence[np.random.Generator], spaces: Spaces) -> Dense:
    return Dense(generators, (spaces.features, 8))


def make() -> gym.Env:
    return gym.make("CartPole-v1")


@pytest.mark.parametrize(
    ("brought", "asks"),
    [
        (
            {"env": make, "body": body},
            [({}, r"body: resume\('.*', env=\.\.\., body=\.\.\.\)"), ({"body": body}, "add --env mod")],
        ),
        ({"body": body}, [({}, "was started with a custom body")]),
    ],
)
def test_a_resumed_run_asks_for_what_it_was_started_with(brought: Any, asks: list[tuple[Any, str]]) -> None:
    def stop(rows: object) -> None:
        if (HERE / CHECKPOINT).exists():
            raise Power

    with pytest.raises(Power):
        train(SMALL, PPO, checkpoints=Checkpoints(HERE, 100), on_update=stop, **brought)
    for given, said in asks:
        with pytest.raises(InputError, match=said):
            resume(HERE, **given)
    assert resume(HERE, **brought).curve["step"].max() >= 900


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_training(capsys: pytest.CaptureFixture[str]) -> None:
    def remove(rows: object) -> None:
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
        with pytest.raises(InputError, match=re.escape(said)):
            use(path)


def test_a_folder_is_really_written_to_before_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    HERE.mkdir()
    with opened(HERE):
        pass
    assert not list(HERE.iterdir())
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(InputError, match=r"^cannot write to x: No space left on device$"):
        Checkpoints(HERE, 9)
    assert not list(HERE.iterdir())
