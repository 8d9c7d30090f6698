"""A signal to the terminal's whole group of processes: only the parent answers, in one line, and no worker is left."""

import os
import signal
import sys
import threading
from pathlib import Path

import psutil
import pytest
from support.commands import begin, ended
from support.waiting import alive, until

from ablations.training.pools import deaf_children

COMMAND = ("run", "--tricks", "baseline", "--seeds", "20", "--workers", "2", "--out", "x")
unix = pytest.mark.skipif(sys.platform == "win32", reason="signals as Unix has them")


@unix
@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP", "SIGTERM"])
def test_a_signal_while_workers_import_torch_is_one_line_and_leaves_no_worker(name: str, tmp_path: Path) -> None:
    process = begin("ablations", COMMAND, tmp_path)
    parent = psutil.Process(process.pid)
    until(lambda: len(parent.children()) == 3)  # two workers, and the tracker of their resources
    children = parent.children()
    os.killpg(process.pid, getattr(signal, name))
    status, _, err = ended(process)
    assert status == 128 + getattr(signal, name)
    assert err == "interrupted; finished jobs are kept, and the same command resumes from there\n"
    until(lambda: not any(map(alive, children)), seconds=10)


@unix
def test_a_signal_that_comes_while_workers_start_is_not_lost() -> None:
    started = []

    def start() -> None:
        with deaf_children():
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # other threads block no signals
            started.append("a worker")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert started == ["a worker"]
