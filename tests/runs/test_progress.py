"""How far a job is, wherever one looks: in a terminal, in a notebook, in a file."""

import sys
from types import SimpleNamespace
from unittest.mock import Mock

from support.commands import until
from support.fixtures import Capture, Patch
from tqdm import tqdm

from tricks.runs import progress
from tricks.runs.progress import Lines


def test_a_file_gets_a_line_every_half_minute(monkeypatch: Patch, capsys: Capture) -> None:
    clock = Mock(return_value=0)
    monkeypatch.setattr("tricks.runs.progress.time.monotonic", clock)
    bar = progress.progress(10_000)
    for second in range(1, 100):
        clock.return_value = second
        bar.update(100)
    bar.close()
    assert capsys.readouterr().err.splitlines() == [
        "30%: 3.00k of 10.0k steps in 00:30, 01:10 left",
        "60%: 6.00k of 10.0k steps in 01:00, 00:40 left",
        "90%: 9.00k of 10.0k steps in 01:30, 00:10 left",
    ]
    clock.return_value = 0
    bar = progress.progress(10_000, initial=6_000)  # which counts for the share and not for the speed
    clock.return_value = 32
    bar.update(2_000)
    assert capsys.readouterr().err == "80%: 8.00k of 10.0k steps in 00:32, 00:32 left\n"


def test_in_a_with_block_lines_come_while_nothing_is_finished(monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.01)
    with progress.progress(100) as bar:
        until(lambda: "0%: " in capsys.readouterr().err)
    assert isinstance(bar, Lines)


def test_a_terminal_and_a_notebook_get_a_bar_and_who_wants_silence_nothing(monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.progress(100, 40) as bar:
        assert isinstance(bar, tqdm) and (bar.total, bar.n) == (100, 40)
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(progress, "silent", True)
        progress.progress(100).update(50)
    assert capsys.readouterr() == ("", "")
    shell = type("ZMQInteractiveShell", (), {})()  # what IPython's is called in a kernel
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with progress.progress(100) as bar:
        assert isinstance(bar, sys.modules["tqdm.auto"].tqdm)
