"""Interrupted and resumed, a run is the run that nothing interrupted."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from tricks import ATARI, EVERY, PPO, REINFORCE, Checkpoints, Config, InputError, Run, Tricks, load, resume, train
from tricks.cli.main import main
from tricks.core.adam import Adam
from tricks.core.rollout import Player, Rollout
from tricks.envs.make import make_env
from tricks.ladder import named, switched
from tricks.runs import checkpoint, files
from tricks.runs.log import Log

SMALL = Config(seeds=(3, 1), steps=900, lanes=2, horizon=50, hidden=(8,), epochs=2, minibatches=2)


class Power(BaseException):
    """It went off."""


def interrupted(folder: Path, config: Config, tricks: Tricks, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Train, with a checkpoint every 200 steps, until `after` of them are written."""
    count = itertools.count(1)

    def write(path: Path, content: bytes) -> None:
        files.write_whole(path, content)
        if next(count) == after:
            raise Power

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "write_whole", write)
        with pytest.raises(Power):
            train(config, tricks, checkpoints=Checkpoints(folder, 200))


def same(one: Run, other: Run) -> None:
    pd.testing.assert_frame_equal(one.curve, other.curve, check_exact=True)
    mine, theirs = one.agent.state_dict(), other.agent.state_dict()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert (one.config, one.tricks, one.diverged) == (other.config, other.tricks, other.diverged)


WORLDS = ["CartPole-v1", "Pendulum-v1", "tricks/Trading-v0", "tricks/CartPoleJump-v0", "tricks/Commute-v0"]
WHOLE_EPISODES = switched([name for name in EVERY.on if name != "segments"])


@pytest.mark.parametrize("env", WORLDS)
@pytest.mark.parametrize(
    "tricks",
    [PPO, EVERY, REINFORCE, WHOLE_EPISODES, named("ppg_buffers"), ATARI],
    ids=["ppo", "every", "reinforce", "whole", "ppg_buffers", "atari"],
)
def test_a_resumed_run_is_to_the_bit_the_run_that_nothing_interrupted(
    env: str, tricks: Tricks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if env == "Pendulum-v1":
        tricks = switched([name for name in tricks.on if name != "action_mask"])
    config = replace(SMALL, env=env)
    interrupted(tmp_path, config, tricks, 2, monkeypatch)
    same(resume(tmp_path), train(config, tricks))


def test_a_run_may_be_interrupted_many_times_in_the_middle_of_a_block_of_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(SMALL, env="tricks/CartPoleShocks-v0", horizon=37, steps=2000)  # 37 divides no block of 256
    interrupted(tmp_path, config, EVERY, 3, monkeypatch)
    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(checkpoint, "write_whole", lambda *given: (files.write_whole(*given), fail()))
            with pytest.raises(Power):
                resume(tmp_path)
    assert 2 * 256 < checkpoint.read(tmp_path).step < 2000
    same(resume(tmp_path), train(config, EVERY))


def fail() -> None:
    raise Power


def test_a_seed_that_diverged_or_is_done_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(SMALL, lr=(1e38, 0.003))
    interrupted(tmp_path, config, WHOLE_EPISODES, 3, monkeypatch)
    run = resume(tmp_path)
    assert set(run.diverged) == {3}
    same(run, train(config, WHOLE_EPISODES))


def test_checkpoints_change_nothing_and_are_written_when_they_are_due(tmp_path: Path) -> None:
    written: list[int] = []

    class Watched(Checkpoints):
        def end_update(self, steps: torch.Tensor) -> None:
            super().end_update(steps)
            written.append(checkpoint.read(tmp_path).step if (tmp_path / checkpoint.NAME).exists() else 0)

    config = replace(SMALL, env="Pendulum-v1")  # whose episodes have 200 steps: 100 a segment, until then
    same(train(config, PPO, checkpoints=Watched(tmp_path, 150)), train(config, PPO))
    assert written[:4] == [0, 200, 300, 300]


class Counter:
    """A part that a trick might keep between updates."""

    def __init__(self) -> None:
        self.seen = torch.zeros(2)

    def state_dict(self) -> dict[str, Any]:
        return {"seen": self.seen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.seen.copy_(state["seen"])


def test_a_part_of_any_kind_is_kept_under_its_name(tmp_path: Path) -> None:
    keep, counter = Checkpoints(tmp_path, 10), Counter()
    keep.begin(SMALL, PPO, log=Log(SMALL), env=make_env(SMALL))
    keep.add(counter=counter)
    counter.seen += 7
    keep.end_update(torch.tensor([3, 12]))
    counter.seen += 1
    again, other = Checkpoints(tmp_path, 10, checkpoint.read(tmp_path)), Counter()
    again.begin(SMALL, PPO, log=Log(SMALL), env=make_env(SMALL))
    again.add(counter=other)
    assert other.seen.tolist() == [7, 7]
    with pytest.raises(InputError, match=r"damaged \(KeyError: 'absent'\)"):
        again.add(absent=other)


def test_adam_goes_on_with_its_moments() -> None:
    def steps(adam: Adam, count: int) -> None:
        for k in range(count):
            adam.step(torch.tensor([[1.0, -2.0 + k]]), torch.tensor([0.1]), torch.tensor([True]))

    once, twice = (torch.nn.Parameter(torch.zeros(1, 2)) for _ in range(2))
    whole, first = Adam([once], 1e-5), Adam([twice], 1e-5)
    steps(whole, 3)
    steps(first, 3)
    second = Adam([twice], 1e-5)
    second.load_state_dict(first.state_dict())
    steps(whole, 2)
    steps(second, 2)
    assert torch.equal(once, twice)


class Seen:
    """What a run saw: the first observations of each rollout."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows: list[np.ndarray] = []
        self.patch = monkeypatch

    def watch(self) -> None:
        plain = Player.rollout

        def rollout(player: Player) -> Rollout:
            played = plain(player)
            self.rows.append(played.obs[:, :3].cpu().numpy())
            return played

        self.patch.setattr(Player, "rollout", rollout)


@pytest.mark.parametrize("backend", ["gymnasium", "envpool"])
def test_an_environment_that_cannot_be_put_back_begins_episodes_that_are_new(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if backend == "envpool":
        pytest.importorskip("envpool")
    config = replace(SMALL, backend=backend)
    interrupted(tmp_path, config, PPO, 2, monkeypatch)
    seen = Seen(monkeypatch)
    seen.watch()
    run = resume(tmp_path)
    said = capsys.readouterr().err
    assert said == "CartPole-v1 cannot be put back where it was: every lane begins a new episode\n"
    assert run.curve.groupby("seed").step.max().min() >= config.steps
    resumed = seen.rows[0]
    seen.rows.clear()
    train(config, PPO)
    assert np.abs(resumed[:, 0]).max() <= 0.05  # an episode's beginning
    assert not np.isin(resumed[:, 0], seen.rows[0][:, 0]).any()  # not one of those that the run began with
    kept = checkpoint.read(tmp_path)
    before = run.curve[run.curve.step <= 400]
    whole = train(config, PPO).curve  # what was before is as it was
    pd.testing.assert_frame_equal(before, whole[whole.step <= 400], check_exact=True)
    assert kept.parts["env"] == {"resumed": 1}


def test_what_was_open_does_not_count_where_episodes_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(SMALL, env="Pendulum-v1", backend="gymnasium")
    interrupted(tmp_path, config, PPO, 1, monkeypatch)
    assert checkpoint.read(tmp_path).parts["log"]["open"][..., 1].tolist() == [[100, 100], [100, 100]]
    lengths = resume(tmp_path).curve["length"].dropna()
    assert len(lengths)
    assert set(lengths) == {200}  # and not 300 of the first


TRAIN = ["train", "ppo", "--seeds", "2", "--lanes", "2", "--horizon", "50", "--hidden", "8"]


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_a_command_that_was_stopped_goes_on_and_writes_the_same_files(
    kill: signal.Signals, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, whole = tmp_path / "run", tmp_path / "whole"
    command = [*TRAIN, "--steps", "8000", "--out"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tricks", *command, str(out), "--checkpoint-every", "100"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    end = time.monotonic() + 60
    while not (out / checkpoint.NAME).exists():
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(kill)
    _, said = process.communicate()
    if kill == signal.SIGINT:
        assert said.splitlines()[-1] == f"interrupted; go on with: python -m tricks train --resume {out}"
        assert process.returncode == 130
    with pytest.raises(InputError, match=r"no run\.json; it is not finished, go on with: python -m tricks"):
        load(out)
    assert main(["train", "--resume", str(out)]) == 0
    assert main([*command, str(whole)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["agent.pt", "curve.csv", "run.json"]
    assert (out / "curve.csv").read_bytes() == (whole / "curve.csv").read_bytes()
    about, other = (json.loads((folder / "run.json").read_text()) for folder in (out, whole))
    assert about.pop("seconds") > 0 < other.pop("seconds")
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
        (["--resume", "DIR", "--lr", "0.1"], "as it was; it takes no --lr\n"),
        (["ppo", "--resume", "DIR"], "it takes no rung 'ppo'"),
        (["--no-gae", "--resume=DIR"], "it takes no --no-gae"),
        (
            ["--steps", "9000", "--resume", "DIR"],
            "it takes no --steps: the annealing runs over the steps that",
        ),
        (["--resume", "DIR", "--out", "DIR"], "it takes no --out"),
        (["--resume", "nowhere"], "nothing to resume in nowhere: there is no checkpoint.pt; only `train --checkpoint"),
        (["--resume", "DIR/complete"], "there is no checkpoint.pt; its run is complete"),
        (["--resume", "DIR/cut"], "checkpoint.pt is damaged ("),
        (["--resume", "DIR/other"], "checkpoint.pt is damaged (KeyError: 'about')"),
        (["--resume", "DIR/text"], "checkpoint.pt is damaged ("),
        (["--resume"], "--resume"),
        (["ppo", "--out", "DIR"], "holds a run that is not finished; go on with: python -m tricks train --resume"),
        (["ppo", "--out", "DIR", "--checkpoint-every", "9"], "holds a run that is not finished"),
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
    whole = (unfinished / checkpoint.NAME).read_bytes()
    (unfinished / "cut" / checkpoint.NAME).write_bytes(whole[: len(whole) // 2])
    (unfinished / "text" / checkpoint.NAME).write_text("hello\n")
    torch.save({"a": 1}, unfinished / "other" / checkpoint.NAME)
    refuses(main, ["train", *(argument.replace("DIR", str(unfinished)) for argument in arguments)], message)
    assert (unfinished / checkpoint.NAME).read_bytes() == whole


def test_a_state_that_does_not_fit_is_a_damaged_checkpoint(unfinished: Path, tmp_path: Path) -> None:
    found = torch.load(unfinished / checkpoint.NAME, weights_only=True)
    found["parts"]["optimizer"]["m"] = torch.zeros(3, 3)
    torch.save(found, tmp_path / checkpoint.NAME)
    with pytest.raises(InputError, match=r"checkpoint.pt is damaged \(RuntimeError: "):
        resume(tmp_path)


def test_ctrl_c_before_the_first_checkpoint_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoints, "end_update", stop)
    assert main([*TRAIN, "--out", str(tmp_path), "--checkpoint-every", "100"]) == 130
    assert capsys.readouterr().err == "interrupted before the first checkpoint\n"


def test_a_checkpoint_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    files.write_whole(path, b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: fail())
        with pytest.raises(Power):
            files.write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    if Path("/dev/full").exists():
        files.partial(path).symlink_to("/dev/full")
        with pytest.raises(InputError, match=r"^cannot write .*file: No space left on device$"):
            files.write_whole(path, b"new")
        assert path.read_bytes() == b"old"


def test_the_facts_of_the_run_stand_in_the_checkpoint(unfinished: Path) -> None:
    about = json.loads(torch.load(unfinished / checkpoint.NAME, weights_only=True)["about"])
    assert about["tricks"] == list(PPO.on)
    assert about["config"]["steps"] == 900
    found = checkpoint.read(unfinished)
    assert (found.config, found.tricks, found.every) == (SMALL, PPO, 500)
