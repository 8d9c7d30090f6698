"""Judge an answer: another process runs the student's code within limits, and this one compares what came of it.

That is no sandbox. The code runs with the rights of whoever grades: it can read that person's files. What it cannot do
is decide its own verdict, see the environment's variables, run or fill the memory without end, or, where Linux lets a
user have namespaces of their own, reach the network or leave a process behind.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from chapters.book.exercise import Exercise
from chapters.book.grading.answering import TOO_LONG
from chapters.book.grading.asked import Asked

ROOT = Path(__file__).parents[3]
START = 120  # seconds for Python and the libraries to start
LONGEST = 8_000_000  # bytes of a reply
KEPT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "VIRTUAL_ENV")
APART = ("unshare", "--user", "--map-current-user", "--net", "--pid", "--fork", "--kill-child")


@dataclass(frozen=True)
class Limits:
    """What one answer may take: seconds, and bytes of memory beyond the libraries."""

    seconds: float
    memory: int


@dataclass(frozen=True)
class Verdict:
    """`right`, `wrong`, `fails`, `unanswered`, `missing`, or `stopped`; what is said of it; what the answer uses."""

    status: str
    said: str
    uses: tuple[str, ...] = ()


def judge(code: Sequence[str], asked: Asked, limits: Limits) -> Verdict:
    """Run an exercise's answer, out of all code cells of a notebook, and judge what it gives."""
    exercise: Exercise = getattr(import_module(f"chapters.exercises.{asked.module}"), asked.check)
    request = {"code": code, "module": asked.module, "check": asked.check, "answer": asked.answer}
    status, text = _run(json.dumps(request | {"memory": limits.memory, "seconds": limits.seconds}), limits)
    if status in ("slow", f"status {TOO_LONG}"):
        seconds = f"{limits.seconds:g} second{'s' * (limits.seconds != 1)}"
        return Verdict("stopped", f"it took longer than {seconds} and was stopped")
    try:
        return verdict(exercise, asked, json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):  # no reply, or not one of `answering`
        return Verdict("stopped", f"its process ended without an answer ({status})")


def verdict(exercise: Exercise, asked: Asked, reply: dict[str, Any]) -> Verdict:
    """What the exercise says of a reply, as it would have said of the function itself."""
    if "missing" in reply:
        return Verdict("missing", f"the notebook has neither {asked.check}(...) nor a function {asked.answer}")
    if "fault" in reply:
        return Verdict("fails", str(reply["fault"]))
    given, uses = list(reply["results"]), tuple(map(str, reply["uses"]))
    answers = iter(given)

    def replayed(*_: Any) -> Any:
        return decoded(next(answers))

    replayed.__name__ = str(reply["name"])
    said = exercise.verdict(replayed)
    status = "right" if said.startswith("Right") else "wrong"
    if any("raised" in each for each in given):
        status = "fails"
    elif all("nothing" in each for each in given):
        return Verdict("unanswered", "the function is not written yet")
    return Verdict(status, said.removeprefix("Not yet: ").removeprefix("Right, "), uses)


def decoded(result: dict[str, Any]) -> Any:
    """What `answering.encoded` made JSON of. Raises the exception that a result stands for."""
    ((kind, value),) = ((k, v) for k, v in result.items() if k not in ("dtype", "shape"))
    if kind == "raised":
        raise type(str(value[0]), (Exception,), {})(value[1])
    if kind in ("tensor", "array"):
        dtype = np.dtype(result["dtype"])
        if dtype.kind not in "biuf":
            raise ValueError(f"no numbers: {dtype}")
        array = np.array(value, dtype=dtype).reshape(result["shape"])
        return torch.from_numpy(array) if kind == "tensor" else array
    if kind in ("tuple", "list"):
        return {"tuple": tuple, "list": list}[kind](decoded(each) for each in value)
    if kind == "number":
        return value
    return (None if value else ...) if kind == "nothing" else type(str(value), (), {})()


def _run(request: str, limits: Limits) -> tuple[str, str]:
    """Let the process of `answering` take a request. Returns how it ended, and its reply.

    Requests and replies are files without a name, so that neither side can block the other.
    """
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile() as asks,
        tempfile.TemporaryFile() as replies,
    ):
        asks.write(request.encode())
        asks.seek(0)
        command = [*apart(), sys.executable, "-P", "-m", "chapters.book.grading.answering"]
        process = subprocess.Popen(
            command,
            stdin=asks,
            stdout=replies,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=_environment(folder),
            start_new_session=True,
        )
        try:
            status = _wait(process, replies, limits.seconds)
        finally:
            _end(process)
        replies.seek(0)
        return status, replies.read(LONGEST).decode(errors="replace").removeprefix("ready\n")


def _wait(process: subprocess.Popen[bytes], replies: IO[bytes], seconds: float) -> str:
    """How the process ended; `slow` if it did not in time. Its time begins when the libraries are there."""
    end, ready = time.monotonic() + START, False
    while process.poll() is None:
        if not ready and os.fstat(replies.fileno()).st_size:
            end, ready = time.monotonic() + seconds, True
        if time.monotonic() > end:
            return "slow"
        time.sleep(0.02)
    return f"status {process.returncode}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and those that it started."""
    if os.name == "nt":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _environment(folder: str) -> dict[str, str]:
    """What the student's code sees of the environment: where programs and libraries are, and no secrets."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    places = {"HOME": folder, "TMPDIR": folder, "TEMP": folder, "MPLCONFIGDIR": folder, "PYTHONPATH": str(ROOT)}
    return kept | places | {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1"}


@cache
def apart() -> tuple[str, ...]:
    """The command that gives a process no network, and ends with all its descendants; empty where there is none."""
    if sys.platform != "linux" or shutil.which(APART[0]) is None:
        return ()
    return APART if subprocess.run([*APART, "true"], capture_output=True).returncode == 0 else ()
