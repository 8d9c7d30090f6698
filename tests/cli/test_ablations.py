"""`python -m ablations`: runs that end in a report and go on where they were, and one line for what cannot be done."""

import re
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import begin, ended, until
from support.studies import FILE, finished

from ablations.cli import main
from ablations.question.designs import DESIGNS, SUITES
from tricks.config import BACKENDS

FEW = "--steps 300 --seeds 2 --workers 2 --out"


def test_the_main_job_ends_in_a_report_and_resumes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*FEW.split(), "x"]) == 0
    first = capsys.readouterr().out
    assert "17 jobs, 0 of them done before" in first
    assert "| + clip_anneal" in first
    assert first.endswith('a question of your own: python -m ablations compare "ppo" "ppo --no-gae"\n')
    made = {path: path.read_bytes() for path in Path("x/ladder_CartPole-v1_300steps").iterdir()}
    figures = {f"{name}.{kind}" for name in ("effects", "curves_ladder") for kind in ("png", "csv")}
    assert {"ladder.md", "ladder.csv", *figures} <= {path.name for path in made}
    assert Path("x/report.html").exists()
    lost = next(iter(finished(Path("x"))))
    with closing(sqlite3.connect(f"x/{FILE}")) as disk, disk:
        disk.execute("DELETE FROM jobs WHERE key = ?", (lost,))
    assert main([*FEW.split(), "x"]) == 0
    assert "17 jobs, 16 of them done before" in capsys.readouterr().out
    assert lost in finished(Path("x"))
    assert [path.name for path, content in made.items() if path.read_bytes() != content] == []


def test_ctrl_c_ends_in_one_line_and_loses_no_finished_job() -> None:
    process = begin("ablations", ["--steps", "1000", "--seeds", "3", "--workers", "1", "--out", "x"], Path())
    until(lambda: finished(Path("x")) or process.poll() is not None)
    done = finished(Path("x"))
    process.send_signal(signal.SIGINT)
    said = "interrupted; finished jobs are kept, and the same command resumes from there\n"
    assert ended(process)[::2] == (130, said)
    assert finished(Path("x")).items() >= done.items() != set()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run --design ladder,leder", "unknown design 'leder'"),
        ("--seeds none", "--seeds must be a count (10) or a range (10:30)"),
        ("--env Talking-v0", "Talking-v0 has a Text observation space"),
        ("--out /dev/null/x", "cannot make the folder /dev/null/x: a file is in its place"),
        ("dance", "unknown command 'dance'"),
    ],
)
def test_bad_input_is_one_line_and_status_2(words: str, message: str, refuses: Callable[..., None]) -> None:
    refuses(main, words.split(), message)


@pytest.mark.parametrize("command", ["run", "tune"])
def test_the_help_names_all_that_can_be_asked_for(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = capsys.readouterr().out
    assert all(re.search(rf"\b{re.escape(name)}\b", said) for name in (*SUITES, *DESIGNS, *BACKENDS))
