"""Commands as a shell starts them: in processes of their own, which can be told to stop."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

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
