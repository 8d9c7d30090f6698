"""Commands that are stopped and go on, and checkpoints that cannot be resumed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.training import SMALL, same

from tricks import PPO, Checkpoints, InputError, load, resume, train
from tricks.cli.main import main
from tricks.runs import checkpoint
from tricks.runs.folder import CHECKPOINT
from tricks.runs.tensor_files import sealed, tensor_bytes

TRAIN = ["train", "ppo", "--seeds", "2", "--lanes", "2", "--horizon", "50", "--hidden", "8"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert main([*TRAIN, "--steps", "8000", "--out", str(folder)]) == 0
    return folder


SIGINT = pytest.param(signal.SIGINT, id="ctrl-c", marks=pytest.mark.slow)  # tests/attack and test_ablations stop others


@pytest.mark.parametrize("kill", [pytest.param(signal.SIGKILL, id="killed"), SIGINT])
def test_a_command_that_was_stopped_goes_on_and_writes_the_same_files(
    kill: signal.Signals, tmp_path: Path, whole: Path
) -> None:
    out = tmp_path / "run"
    command = [*TRAIN, "--steps", "8000", "--out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tricks", *command, str(out), "--checkpoint-every", "100"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    end = time.monotonic() + 60
    while not (out / CHECKPOINT).exists():
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(kill)
    _, said = process.communicate()
    if kill == signal.SIGINT:
        assert re.fullmatch(
            r"interrupted at step [\d,]+ of 8,000, which is saved; resume with: python -m tricks train --resume (.*)",
            said.splitlines()[-1],
        )
        assert process.returncode == 130
    assert load(out).agent.state_dict().keys() == load(whole).agent.state_dict().keys()
    assert main(["train", "--resume", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["agent.pt", "curve.csv", "curve.png", "last.pt", "run.json"]
    assert (out / "curve.csv").read_bytes() == (whole / "curve.csv").read_bytes()
    about, other = (json.loads((folder / "run.json").read_text()) for folder in (out, whole))
    assert about.pop("seconds") > 0 < other.pop("seconds")
    assert about.pop("made_with").pop("date") >= other.pop("made_with").pop("date")
    for each in (about, other):  # last.pt has these times, too
        del each["checksum"], each["checksums"]["last.pt"]
    assert about == other
    same(load(out), load(whole))


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unfinished") / "run"
    train(SMALL, PPO, checkpoints=Checkpoints(folder, 500))
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume", "DIR", "--lr", "0.1"], "own settings; it takes no --lr\n"),
        (["ppo", "--resume", "DIR"], "it takes no rung 'ppo'"),
        (["--no-gae", "--resume=DIR"], "it takes no --no-gae"),
        (
            ["--steps", "9000", "--resume", "DIR"],
            "it takes no --steps: annealing runs over the original steps",
        ),
        (["--resume", "DIR", "--out", "DIR"], "it takes no --out"),
        (["--resume", "nowhere"], "nothing to resume in nowhere: there is no checkpoint.pt; only `train --checkpoint"),
        (["--resume", "DIR/complete"], "there is no checkpoint.pt; its run is complete"),
        (["--resume", "DIR/cut"], "checkpoint.pt is damaged ("),
        (["--resume", "DIR/other"], "checkpoint.pt is damaged (KeyError: 'about')"),
        (["--resume", "DIR/text"], "checkpoint.pt is damaged ("),
        (["--resume"], "--resume"),
        (["ppo", "--out", "DIR"], "holds an unfinished run; resume it with: python -m tricks train --resume"),
        (["ppo", "--out", "DIR", "--checkpoint-every", "9"], "holds an unfinished run"),
        (["ppo", "--checkpoint-every", "9"], "--checkpoint-every needs --out"),
        (["ppo", "--checkpoint-every", "0", "--out", "DIR/new"], "checkpoints must be at least 1 step apart, not 0"),
        (["ppo", "--checkpoint-every", "9", "--out", "/dev/null/x"], "cannot make the folder"),
    ],
)
def test_what_cannot_be_resumed_is_one_clear_line(
    arguments: list[str], message: str, unfinished: Path, refuses: Callable[..., None]
) -> None:
    for name in ("complete", "cut", "other", "text"):
        (unfinished / name).mkdir(exist_ok=True)
    (unfinished / "complete" / "run.json").touch()
    whole = (unfinished / CHECKPOINT).read_bytes()
    (unfinished / "cut" / CHECKPOINT).write_bytes(whole[: len(whole) // 2])
    (unfinished / "text" / CHECKPOINT).write_text("hello\n")
    (unfinished / "other" / CHECKPOINT).write_bytes(sealed(tensor_bytes({"a": 1})))
    refuses(main, ["train", *(argument.replace("DIR", str(unfinished)) for argument in arguments)], message)
    assert (unfinished / CHECKPOINT).read_bytes() == whole


def test_a_state_that_does_not_fit_is_named(unfinished: Path, tmp_path: Path) -> None:
    found = torch.load(unfinished / CHECKPOINT, weights_only=True)
    found["parts"]["optimizer"]["m"] = torch.zeros(3, 3)
    (tmp_path / CHECKPOINT).write_bytes(sealed(tensor_bytes(found)))
    with pytest.raises(InputError, match=r"checkpoint.pt has a part 'optimizer' that does not fit: another version"):
        resume(tmp_path)


def test_ctrl_c_before_the_first_checkpoint_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoints, "end_update", stop)
    assert main([*TRAIN, "--out", str(tmp_path), "--checkpoint-every", "100"]) == 130
    assert capsys.readouterr().err == (
        f"interrupted before the first checkpoint; the curve so far is in {tmp_path / 'curve.csv'}\n"
    )


def test_the_facts_of_the_run_stand_in_the_checkpoint(unfinished: Path) -> None:
    about = json.loads(torch.load(unfinished / CHECKPOINT, weights_only=True)["about"])
    assert about["tricks"] == list(PPO.on)
    assert about["config"]["steps"] == 900
    found = checkpoint.read(unfinished)
    assert (found.config, found.tricks, found.every) == (SMALL, PPO, 500)
