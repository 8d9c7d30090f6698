"""Commands as a shell starts them: in processes of their own, which can be told to stop; and waiting for them."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import psutil
import pytest

ROOT = Path(__file__).parents[2]
TINY = ("--steps", "64", "--lanes", "2", "--horizon", "8", "--hidden", "4", "--seeds", "2")


def begin(
    module: str, arguments: Sequence[str], folder: Path, stdout: int | IO[str] = subprocess.PIPE, **settings: str
) -> subprocess.Popen[str]:
    """`python -m module arguments` in the folder, as the leader of a group of processes. settings: environment."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
    try:
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | settings,
            stdout=stdout,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out or "", err


def ruff(*words: str) -> str:
    """What ruff says, with no settings but our line length."""
    program = shutil.which("ruff", path=str(Path(sys.executable).parent)) or pytest.skip("ruff is not installed")
    command = [program, words[0], "--isolated", "--line-length=120", *words[1:]]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file can grow beyond this, as on a disk that is nearly full.

    No bytecode is written meanwhile: Python would save a module cut off at this size, and its next import would fail.
    """
    import resource  # which Windows does not have

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
        sys.dont_write_bytecode = writes_none


linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts processes as Linux shows them")


def alive(process: psutil.Process) -> bool:
    """Whether a process runs; one that is no more than an entry that nobody has asked for yet does not."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def until(true: Callable[[], Any], seconds: float = 60, said: str = "waited in vain") -> Any:
    """What it returns once that is true."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, said
        time.sleep(0.02)
    return found
