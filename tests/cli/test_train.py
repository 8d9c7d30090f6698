"""`train`: what its folder holds while it trains and afterwards, and what it says in the end."""

import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from tricks import PPO, Config, load, train
from tricks.cli.main import main
from tricks.cli.summary import summary
from tricks.core.rollout import Player, Rollout
from tricks.runs import progress
from tricks.runs.intervals import over

TINY = [
    "train",
    "ppo",
    "--env",
    "ShortCartPole-v0",
    "--steps",
    "120",
    "--lanes",
    "2",
    "--horizon",
    "16",
    "--hidden",
    "8",
]


def test_the_folder_holds_what_run_save_writes_and_a_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "--seeds", "2", "--out", str(tmp_path / "run")]) == 0
    run = train(Config("ShortCartPole-v0", seeds=2, steps=120, lanes=2, horizon=16, hidden=(8,)), PPO)
    run.save(tmp_path / "same")
    for name in ("curve.csv", "agent.pt"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "same" / name).read_bytes()
    with Image.open(tmp_path / "run" / "curve.png") as image:
        assert image.format == "PNG"
    pd.testing.assert_frame_equal(load(tmp_path / "run").curve, run.curve)


@pytest.mark.parametrize(("told", "used"), [(None, 1), ("2", 2)])
def test_the_command_uses_one_thread_unless_told_otherwise(
    told: str | None, used: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if told:
        monkeypatch.setenv("OMP_NUM_THREADS", told)
    torch.set_num_threads(2)  # as PyTorch starts on two cores, or with this variable
    try:
        assert main([*TINY, "--seeds", "1"]) == 0
        assert torch.get_num_threads() == used
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize(("taken", "said"), [((120, 120), []), ((128, 128), ["128"]), ((128, 1310), ["128 to 1,310"])])
def test_the_summary_says_how_many_steps_were_taken_if_that_is_not_the_budget(
    taken: tuple[int, int], said: list[str]
) -> None:
    run = train(Config("ShortCartPole-v0", seeds=2, steps=120, lanes=2, horizon=16, hidden=(8,)), PPO)
    last = pd.DataFrame({"seed": [0, 1], "step": taken, "episodes": [1, 1], "return": [9.0, 9.0]})
    text = summary(replace(run, curve=pd.concat([run.curve[run.curve["step"] < 120], last])))
    assert (
        re.findall(r"^steps taken per seed: (.*) \(the last batch is always completed\)$", text, re.MULTILINE) == said
    )


def interrupted_after(rollouts: int) -> Callable[[Player], Rollout]:
    """`Player.rollout`, but Ctrl-C comes after so many of them."""
    plain = Player.rollout

    def rollout(player: Player) -> Rollout:
        if player.rollouts[0] == rollouts:
            raise KeyboardInterrupt
        return plain(player)

    return rollout


def test_an_interrupted_run_leaves_its_curve_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Player, "rollout", interrupted_after(2))
    assert main([*TINY, "--seeds", "2", "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err == (
        f"interrupted before the first checkpoint; the curve so far is in {tmp_path / 'curve.csv'}\n"
    )
    curve = pd.read_csv(tmp_path / "curve.csv")
    assert curve["update"].tolist() == [0, 0, 1, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["curve.csv"]


def test_a_run_that_is_interrupted_at_once_leaves_an_earlier_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*TINY, "--seeds", "1", "--out", str(tmp_path)]) == 0
    before = load(tmp_path).curve
    capsys.readouterr()
    monkeypatch.setattr(Player, "rollout", interrupted_after(0))
    assert main([*TINY, "--seeds", "2", "--out", str(tmp_path), "--overwrite"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
    pd.testing.assert_frame_equal(load(tmp_path).curve, before)


def test_evaluations_are_a_column_and_a_line_of_the_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--env", "ActionReward-v0", "--lr", "0.05", "--steps", "300", "--seeds", "5", "--out", str(tmp_path)]
    assert main([*TINY, *asked, "--eval-every", "100", "--eval-episodes", "3"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-2] == (
        "mean return of the last greedy evaluation: 1.0, 95% interval [1.0, 1.0] (Student's t over 5 seeds)"
    )
    assert said[-1] == f"wrote {tmp_path}; to watch an agent: python -m tricks play {tmp_path}"
    curve = pd.read_csv(tmp_path / "curve.csv")
    assert (curve.groupby("seed")["eval_return"].count() == 3).all()


def test_the_last_line_is_a_command_that_plays_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "my run"
    assert main([*TINY, "--env", "tricks.worlds:tricks/Corridor-v0", "--seeds", "1", "--out", str(out)]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    python, m, package, *command = shlex.split(last.partition(f"wrote {out}; to watch an agent: ")[2])
    assert (python, m, package) == ("python", "-m", "tricks")
    assert main([*command, "--no-gif", "--episodes", "1"]) == 0


def test_the_summary_has_an_interval_over_five_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "--seeds", "5"]) == 0
    *seeds, last, hint = capsys.readouterr().out.splitlines()
    assert hint == "nothing was saved; --out DIR saves a run"
    assert len(seeds) == 5
    assert last.startswith("mean return over the last 10% of 120 steps of ShortCartPole-v0: ")
    assert last.endswith("] (Student's t over 5 seeds)")


def test_an_interval_needs_five_seeds_and_all_of_them() -> None:
    five = pd.Series([1.0, 2.0, 3.0, 4.0, 5.0])  # t₄ = 2.776, s = 1.581: ±1.963
    assert over(five) == "3.0, 95% interval [1.0, 5.0] (Student's t over 5 seeds)"
    assert over(five[:4]) == "2.5 (no interval with fewer than 5 seeds)"
    assert over(pd.Series([*five, np.nan])) == "3.0 (of 5 of 6 seeds: no interval)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tensorboard"], "--tensorboard needs --out, the folder to write into"),
        (["--checkpoint-every", "9"], "--checkpoint-every needs --out, the folder to write into"),
        (["--eval-every", "0"], "evaluations must be at least 1 step apart, not 0"),
        (["--eval-every", "9", "--eval-episodes", "0"], "an evaluation needs at least 1 episode, not 0"),
        (["--eval-episodes", "3"], "--eval-episodes needs --eval-every"),
        (["--resume", "x", "--eval-every", "9"], "it takes no --eval-every"),
        (["--tensorboard", "--out", "DIR"], 'install it with: pip install "ppo-tricks[tensorboard]"'),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refuses: Callable[..., None],
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    refuses(main, ["train", *(argument.replace("DIR", str(tmp_path)) for argument in arguments)], message)
    assert not list(tmp_path.iterdir())


def test_a_resumed_run_goes_on_with_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int]] = []

    class Writer:
        def __init__(self, folder: str, purge_step: int) -> None:
            Path(folder).mkdir(parents=True, exist_ok=True)

        def add_scalar(self, name: str, x: float, step: int) -> None:
            told.append((name, step))

        def close(self) -> None:
            told.append(("closed", 0))

    package = type(sys)("package")
    package.SummaryWriter = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", package)
    with monkeypatch.context() as patch:
        patch.setattr(Player, "rollout", interrupted_after(3))
        asked = ["--seeds", "1", "--out", str(tmp_path), "--checkpoint-every", "20", "--tensorboard"]
        assert main([*TINY, *asked]) == 130
    assert told[-1] == ("closed", 0)
    count = sum(name == "update" for name, _ in told)
    assert count == 3
    assert main(["train", "--resume", str(tmp_path)]) == 0
    rows = pd.read_csv(tmp_path / "curve.csv")
    assert [step for name, step in told if name == "update"][count:] == rows["step"].tolist()[count:]


@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_a_quiet_training_prints_and_draws_nothing(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0)
    assert main([*TINY, "--seeds", "1", "--out", str(tmp_path / "run"), option]) == 0
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "run" / "run.json").is_file()
    assert main([*TINY, "--seeds", "1"]) == 0
    said = capsys.readouterr()
    assert said.out
    assert "%: " in said.err
    assert main([*TINY, "--seeds", "nonsense", option]) == 2
    assert "nonsense" in capsys.readouterr().err
