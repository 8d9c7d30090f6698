"""A run's folder: one process at a time, and what an unfinished run in it says."""

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
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
from tricks.runs import checkpoint
from tricks.runs.files import probe
from tricks.runs.folder import CHECKPOINT
from tricks.runs.lock import NAME, hold, take

HOLD = """
import sys, time
from pathlib import Path
from typing import Any
from tricks.runs.lock import take
release = take(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


def test_a_second_process_is_told_of_the_first_until_that_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(tmp_path, SMALL, PPO, 2, monkeypatch)
    finished = train(SMALL, PPO)
    first = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    said = f"{tmp_path} is in use: process {first.pid} on "
    for use in (lambda: resume(tmp_path), lambda: Checkpoints(tmp_path, 9), lambda: finished.save(tmp_path)):
        with pytest.raises(InputError) as refused:
            use()
        assert str(refused.value).startswith(said)
    first.kill()
    first.communicate()
    assert (tmp_path / NAME).exists()  # and it locks nothing
    same(resume(tmp_path), finished)
    finished.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent.pt", "curve.csv", "last.pt", "run.json"]


def test_one_process_may_hold_a_folder_several_times(tmp_path: Path) -> None:
    release = take(tmp_path)
    with hold(tmp_path):
        assert (tmp_path / NAME).exists()
    assert (tmp_path / NAME).exists()
    release()
    assert not (tmp_path / NAME).exists()


FORKED = """
import os, sys, time
from pathlib import Path
from tricks.runs.lock import take
release = take(Path(sys.argv[1]))
worker = os.fork()
if not worker:
    release()
    os.write(1, b"released\\n")
    time.sleep(600)
os.write(1, b"%d\\n" % worker)
time.sleep(600)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_worker_neither_releases_the_lock_nor_keeps_it(tmp_path: Path) -> None:
    first = subprocess.Popen([sys.executable, "-c", FORKED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    said = {first.stdout.readline().strip() for _ in range(2)}
    (worker,) = said - {"released"}
    try:
        with pytest.raises(InputError, match=f"is in use: process {first.pid} on "):
            take(tmp_path)
        first.kill()
        first.wait()
        take(tmp_path)()
    finally:
        os.kill(int(worker), signal.SIGKILL)
        first.stdout.close()


@pytest.mark.skipif(sys.platform == "win32", reason="flock is of Unix")
def test_without_locks_nothing_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    release = take(tmp_path)
    with hold(tmp_path):
        pass
    release()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(InputError, match=f"^cannot write to {re.escape(str(tmp_path))}: Is a directory$"):
        take(tmp_path)


def test_checkpoints_hold_their_folder_as_long_as_they_exist(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, 9)
    assert (tmp_path / NAME).exists()
    del checkpoints
    until(lambda: not (tmp_path / NAME).exists(), seconds=5)


def test_a_finished_run_is_not_trained_over(tmp_path: Path) -> None:
    run = train(replace(SMALL, steps=100), PPO)
    run.save(tmp_path)
    with pytest.raises(InputError, match="holds a finished run; add --overwrite"):
        Checkpoints(tmp_path, 9)
    Checkpoints(tmp_path, 9, overwrite=True)
    same(load(tmp_path), run)


def test_any_flipped_byte_of_a_checkpoint_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(tmp_path, SMALL, PPO, 1, monkeypatch)
    path, rng = tmp_path / CHECKPOINT, np.random.default_rng(0)
    whole = path.read_bytes()
    for place in {0, len(whole) - 1, len(whole) - 70, *rng.integers(len(whole), size=100).tolist()}:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ int(rng.integers(1, 256))]) + whole[place + 1 :])
        with pytest.raises(InputError, match=r"checkpoint\.pt is damaged \(it (does not match its|has no) checksum"):
            resume(tmp_path)
    path.write_bytes(whole)
    assert checkpoint.read(tmp_path).step >= 200


def body(generators: Sequence[np.random.Generator], spaces: Spaces) -> Dense:
    return Dense(generators, (spaces.features, 8))


def make() -> gym.Env:
    return gym.make("CartPole-v1")


def test_a_resumed_run_asks_for_what_it_was_started_with(tmp_path: Path) -> None:
    def stop(rows: object) -> None:
        if (tmp_path / CHECKPOINT).exists():
            raise Power

    with pytest.raises(Power):
        train(SMALL, PPO, env=make, body=body, checkpoints=Checkpoints(tmp_path, 100), on_update=stop)
    for given, said in (({}, r"body: resume\('.*', env=\.\.\., body=\.\.\.\)"), ({"body": body}, "add --env mod")):
        with pytest.raises(InputError, match=said):
            resume(tmp_path, **given)  # type: ignore[arg-type]
    assert resume(tmp_path, env=make, body=body).curve["step"].max() >= 900


def test_a_run_that_was_started_with_its_own_net_asks_for_that_alone(tmp_path: Path) -> None:
    def stop(rows: object) -> None:
        if (tmp_path / CHECKPOINT).exists():
            raise Power

    with pytest.raises(Power):
        train(SMALL, PPO, body=body, checkpoints=Checkpoints(tmp_path, 100), on_update=stop)
    with pytest.raises(InputError, match="was started with a custom body"):
        resume(tmp_path)
    assert resume(tmp_path, body=body).curve["step"].max() >= 900


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"

    def remove(rows: object) -> None:
        if folder.exists():
            (folder / NAME).unlink()
            folder.rmdir()

    run = train(SMALL, PPO, checkpoints=Checkpoints(folder, 400), on_update=remove)
    same(run, train(SMALL, PPO))
    why = "No such file or directory; the training goes on without this checkpoint"
    assert capsys.readouterr().err == 2 * f"cannot write {folder / CHECKPOINT}: {why}\n"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("x" * 300, "too long"),
        ("a\0b", r"not 'a\x00b'"),
        ("", "not ''"),
        (None, "not None"),
        ("~nobody-here/x", "~"),
    ],
)
def test_what_cannot_be_a_path_is_one_line(path: Any, said: str) -> None:
    for use in (load, resume, lambda path: Checkpoints(path, 9)):
        with pytest.raises(InputError, match=re.escape(said)):
            use(path)


def test_a_folder_is_really_written_to_before_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probe(tmp_path)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(InputError, match=r"^cannot write to .*: No space left on device$"):
        Checkpoints(tmp_path, 9)
    assert not list(tmp_path.iterdir())
