"""Speed: the measured times add up, and measuring leaves the loop as it was."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch

import tricks.loop as loop
from ablations.cli import main
from ablations.findings.speed import speed_text
from ablations.findings.stopwatch import stopwatches
from tricks import PPO, Config, train


@pytest.mark.parametrize("env", ["CartPole-v1", "tricks/Corridor1-v0"])
def test_the_stopwatches_see_every_step_and_change_nothing(env: str) -> None:
    config = Config(env, seeds=2, steps=2000, lanes=4, horizon=64)
    plain, names = train(config, PPO), {name: vars(loop)[name] for name in ("open_env", "play_segment")}
    with stopwatches(torch.device("cpu")) as spent:
        watched = train(config, PPO)
    assert spent["rollout"] > 0
    if env != "CartPole-v1":  # whose segments are one compiled call, rules included
        assert 0 < spent["environment"] < spent["rollout"]
    pd.testing.assert_frame_equal(plain.curve, watched.curve)
    assert all(vars(loop)[name] is original for name, original in names.items())


def test_a_table_has_a_row_per_backend_and_size_and_a_ratio_to_the_peer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("stable_baselines3")
    path, other = tmp_path / "new" / "speed.csv", tmp_path / "other.csv"
    other.write_text("who,seeds,steps_per_second\nPureJaxRL,16,250000\n", encoding="utf-8")
    few = ["--backends", "tensor,gymnasium", "--seeds", "1,3", "--steps", "100", "--processes", "2"]
    assert main(["speed", *few, "--beside", str(other), "--against", "sb3", "--out", str(path)]) == 0
    said, frame = capsys.readouterr().out, pd.read_csv(path)
    assert path.with_suffix(".png").stat().st_size > 10_000
    assert frame.iloc[-1][["who", "steps_per_second"]].tolist() == ["PureJaxRL", 250_000]
    frame = frame.iloc[:-1]
    assert frame.backend.tolist() == ["tensor", "tensor", "gymnasium", "gymnasium", "gymnasium"]
    assert frame.seeds.tolist() == [1, 3, 1, 3, 1]
    assert (frame.processes == 2).all()
    ours = frame[frame.who == "tricks"]
    total = ours[["environment", "rollout", "update"]].sum(axis=1)
    # the times are the mean of both processes, the speed is their sum; so 2/mean falls short of it if they differ
    assert (2e6 / total / ours.steps_per_second).between(0.5, 1.001).all()
    assert (frame.megabytes > 50).all()
    assert said.count("| tricks ") == 4
    assert said.splitlines()[5].endswith("× sb3 | × PureJaxRL |")


def test_each_stack_is_measured_in_its_plain_form_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed", "--backends", "tensor", "--seeds", "2", "--steps", "100", "--plain"]) == 0
    said = capsys.readouterr().out
    assert "tensor cpu plain S=2: " in said
    assert said.count("| plain ") == 1
    assert "without what numba compiles" in said


HEAD = "who,seeds,steps_per_second"
PEERS = "needs seeds of at least 1 and steps_per_second above 0, and finite"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *((["--seeds", x], f"--seeds must be stack sizes of at least 1, such as 1,10,100, not '{x}'") for x in "x0"),
        (["--backends", "toaster"], "unknown backend 'toaster'"),
        (["--backends", "tensor", "--env", "FrozenLake-v1"], "backend tensor has no 'FrozenLake-v1'"),
        *((["--devices", name], f"no device '{name}'") for name in ("toaster", "meta")),
        (["--against", "toaster"], "unknown peer 'toaster'; the only one is sb3"),
        (["--rung", "toaster"], "unknown rung 'toaster'"),
        (["--rung", "clip", "--against", "sb3"], "--against sb3 needs --rung ppo, not clip"),
        (["--out", "/proc/none/x.csv"], "cannot make the folder /proc/none"),
        (["--beside", "/none.csv"], "cannot read --beside /none.csv: No such file or directory"),
        (["--out", "/tmp"], "--out must be a file, but /tmp is a folder"),
        (["--processes", "0"], "--processes must be at least 1, not 0"),
        (["--steps", "-5"], "--steps must be at least 1, not -5"),
        (["--beside", "who,seeds\nx,1\n"], f"lacks the column steps_per_second; it needs {HEAD.replace(',', ', ')}"),
        (["--beside", f"{HEAD}\nx,1,fast\n"], "has a number that is none"),
        (["--beside", f"{HEAD},environment\nx,1,5,CartPole-v1\n"], "has a number that is none"),
        *((["--beside", f"{HEAD}\nx,1,{x}\n"], PEERS) for x in ("inf", "-5")),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, refuses: Callable[..., None]
) -> None:
    if "\n" in arguments[-1]:
        (tmp_path / "peers.csv").write_text(arguments[-1], encoding="utf-8")
        arguments = ["--beside", str(tmp_path / "peers.csv")]
    refuses(main, ["speed", *arguments], message)


def test_the_cost_is_relative_to_the_smallest_stack_wherever_it_stands() -> None:
    times = {"environment": 1.0, "rollout": 1.0, "update": 1.0, "megabytes": 1.0}
    base = {"who": "tricks", "backend": "tensor", "device": "cpu", "processes": 1, **times}
    four, one = {"seeds": 4, "steps_per_second": 20}, {"seeds": 1, "steps_per_second": 10}
    text = speed_text(pd.DataFrame([base | four, base | one]))
    assert [line.split("|")[-2].strip() for line in text.splitlines()[2:]] == ["2.00", "1.00"]
