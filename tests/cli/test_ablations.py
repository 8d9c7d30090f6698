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

TRAINING = "run --suite classic", "run --dry-run", "tune", "worlds", "sweep --vary gamma=0.9,0.99", "random"
TUNED = "--rung baseline+separate_optimizers --vary"
BUFFERS = "value_epochs has no effect with ppg_buffers, which have value_uses instead"
FEW = "--steps 300 --seeds 2 --workers 2 --out x"


def test_the_main_job_ends_in_a_report_and_resumes(told: Callable[..., str]) -> None:
    first = told(FEW, main=main)
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
    assert "17 jobs, 16 of them done before" in told(FEW, main=main)
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
        ("run --tricks action_mask", "CartPole-v1 gives no action mask, so action_mask has no effect"),
        ("run --design published --tricks clip", "the design published has its own arms"),
        ("run --tricks ppg", "ppg is beyond the ladder: leave out --tricks"),
        ("run --tricks baseline,popart", "return_norm is needed, and itself needs baseline: add return_norm"),
        ("tune --suite published", "the suite published has fixed learning rates"),
        ("tune --suite worlds", "the worlds have a command of their own: python -m ablations worlds"),
        ("run --suite classic --backend gymnasium", "a suite has its own backends"),
        ("run --suite mujoco --env Ant-v5", "it has Hopper-v5, Walker2d-v5, HalfCheetah-v5\n"),
        ("tune --lr 0.1", "tune tries the rates of its own grid; leave out --lr"),
        ("run --gama 0.9", "unknown option --gama (did you mean --gamma?)"),
        ("sweep --vary epochs=1,2 --epochs 3", "this sweep varies epochs, so leave out --epochs"),
        ("worlds --tricks glue", "unknown trick glue; the tricks are baseline,"),
        ("worlds --tricks clip,ppg", "there is no trial for ppg; the tricks with trials are baseline,"),
        ("worlds --env Mail", "there is no trial in Mail; there are trials in tricks/Loan0Pay0.1-v0, "),
        ("worlds --env tricks/Mail-v0", "there is no trial in tricks/Mail-v0 (did you mean tricks/Mail6-v0?)"),
        ("worlds --tricks clip --env Mail", "no trial of clip in Mail; there are trials of clip in CartPole-v1"),
        ("worlds --seeds 0", "--seeds must name at least one seed"),
        ("random --draws 15", "--draws must be a multiple of 10 from 20 to 1,000,000, not 15"),
        ("random --tricks glue", "unknown trick glue"),
        ("sweep", "--vary is missing"),
        ("sweep --vary glue=1", "--vary has no number 'glue'; it has "),
        ("sweep --vary gamma=x", "--vary needs values such as gamma=1,2, not 'gamma=x'"),
        ("sweep --vary epochs=1.5", "epochs must be a whole number, not 1.5"),
        ("sweep --vary gamma=0.9,0.9", "--vary has a value of gamma twice"),
        ("sweep --vary gamma=0.9 --seeds 0", "--seeds must be at least 1, not 0"),
        ("sweep --vary gamma=0.9 --seeds 1000000", "a sweep has at most 100,000"),
        ("sweep --vary huber_delta=1,2", "huber_delta has no effect without huber; --rung ppo+huber"),
        (f"sweep {TUNED} value_epochs=1,2", "has no effect without reuse"),
        (f"sweep {TUNED} max_value_grad_norm=1", "without grad_clip; --rung baseline+separate_optimizers+grad_clip"),
        ("sweep --rung ppg_buffers+separate_optimizers --vary value_epochs=1,2", BUFFERS),
        ("sweep --vary minibatches=4,100000", "100000 minibatches are more"),
        *[(f"{command} --device cuda:7", "no device 'cuda:7'") for command in TRAINING],
    ],
)
def test_bad_input_is_one_line_and_status_2(words: str, message: str, refuses: Callable[..., None]) -> None:
    refuses(main, words.split(), message)
    assert not list(Path().iterdir())


@pytest.mark.parametrize("command", ["run", "tune"])
def test_the_help_names_all_that_can_be_asked_for(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = capsys.readouterr().out
    assert all(re.search(rf"\b{re.escape(name)}\b", said) for name in (*SUITES, *DESIGNS, *BACKENDS))
