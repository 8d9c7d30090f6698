"""Processes that end, and waiting for what they do."""

import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts processes as Linux shows them")


def alive(process: psutil.Process) -> bool:
    """Whether a process runs; one that is no more than an entry that nobody has asked for yet does not."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def until(true: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
