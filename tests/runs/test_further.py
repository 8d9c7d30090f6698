"""A finished run trains on as if its budget had been larger; another task starts from a finished run's agents."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tricks import PPO, Checkpoints, Config, InputError, Tricks, load, resume, train
from tricks.cli.main import main
from tricks.continuing import StartFrom, further
from tricks.ladder import closed, switched
from tricks.runs.folder import LAST
from tricks.runs.plot import curve_figure

CONFIG = Config(seeds=2, lanes=2, horizon=50, steps=400, hidden=(8,))
STEADY = switched(closed(["gae", "clip", "state_norm", "return_norm", "segments"]))  # without schedules
ANNEALED = switched([*STEADY.on, "lr_anneal"])


def finished(folder: Path, tricks: Tricks = STEADY, config: Config = CONFIG) -> Path:
    """The folder of a finished run that wrote checkpoints."""
    train(config, tricks, checkpoints=Checkpoints(folder, 100)).save(folder)
    return folder


def test_a_run_trained_on_is_the_run_of_the_larger_budget(tmp_path: Path) -> None:
    run = further(finished(tmp_path), 300)
    whole = train(replace(CONFIG, steps=700), STEADY)
    assert run.config == whole.config
    assert run.curve.equals(whole.curve)
    for mine, theirs in zip(run.agent.parameters(), whole.agent.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_schedules_run_over_the_whole_or_stay_at_their_end(tmp_path: Path) -> None:
    for schedule in ("whole", "end"):
        folder = tmp_path / schedule
        curve = further(finished(folder, ANNEALED), 400, schedule).curve
        first = curve[curve.seed == 0]
        before = first.step.shift(fill_value=0)
        rates, old = first.learning_rate.to_numpy(), (before < 400).to_numpy()
        assert rates[old] == pytest.approx(1e-3 * (1 - before[old] / 400), rel=1e-5)
        going_on = 1e-3 * (1 - before[~old] / 800) if schedule == "whole" else rates[old][-1]
        assert (~old).sum() >= 3
        assert rates[~old] == pytest.approx(going_on, rel=1e-5)


def test_a_schedule_that_was_held_runs_over_the_whole_again_if_asked(tmp_path: Path) -> None:
    further(finished(tmp_path, ANNEALED), 200, "end").save(tmp_path, overwrite=True)
    curve = further(tmp_path, 400).curve
    first = curve[curve.seed == 0]
    before = first.step.shift(fill_value=0)
    last = (before >= 600).to_numpy()
    assert last.sum() >= 3
    assert first.learning_rate.to_numpy()[last] == pytest.approx(1e-3 * (1 - before[last] / 1000), rel=1e-5)


def test_it_can_be_trained_on_again_and_again(tmp_path: Path) -> None:
    finished(tmp_path)
    for total in (500, 600):
        further(tmp_path, 100).save(tmp_path, overwrite=True)
        assert load(tmp_path).config.steps == total
        assert load(tmp_path).curve.groupby("seed").step.max().between(total, total + 100).all()


def test_the_run_and_its_figure_say_where_it_was_joined(tmp_path: Path) -> None:
    plain = finished(tmp_path / "a")
    assert not {"joined", "from"} & json.loads((plain / "run.json").read_text()).keys()
    assert load(plain).curve.attrs == {}
    for joined in ([400], [400, 500]):
        further(plain, 100).save(plain, overwrite=True)
        assert json.loads((plain / "run.json").read_text())["joined"] == joined
    run = load(plain)
    assert run.curve.attrs == run.only(1).curve.attrs == {"joined": [400, 500]}
    dotted = [line for line in curve_figure(run).axes[0].lines if line.get_linestyle() == ":"]
    assert [line.get_xdata()[0] for line in dotted] == [400, 500]  # type: ignore[index]


def test_a_run_says_whose_agents_it_started_from_even_if_it_is_resumed(tmp_path: Path) -> None:
    finished(tmp_path / "first")

    def stop(rows: Any) -> None:
        if rows[0]["step"] >= 200:
            raise KeyboardInterrupt

    start = StartFrom(tmp_path / "first", inner=Checkpoints(tmp_path / "second", 100))
    with pytest.raises(KeyboardInterrupt):
        train(CONFIG, STEADY, checkpoints=start, on_update=stop)
    del start
    resume(tmp_path / "second").save(tmp_path / "second")
    run = load(tmp_path / "second")
    assert run.curve.attrs == {"from": "first"}
    assert "from the agents of first" in curve_figure(run).axes[0].get_xlabel()
    assert further(tmp_path / "second", 100).curve.attrs == {"from": "first", "joined": [400]}


def test_a_run_without_its_state_does_not_go_on(tmp_path: Path) -> None:
    finished(tmp_path / "a")
    run = load(tmp_path / "a")
    run.only(1).save(tmp_path / "a", overwrite=True)
    assert not (tmp_path / "a" / LAST).exists()
    with pytest.raises(InputError, match=r"an earlier version saved its run, or it is a part of one; --st"):
        further(tmp_path / "a", 100)
    other = finished(tmp_path / "b", PPO) / LAST
    (finished(tmp_path / "c") / LAST).write_bytes(other.read_bytes())
    with pytest.raises(InputError, match=r"is damaged: last\.pt: it does not match its checksum"):
        further(tmp_path / "c", 100)
    (tmp_path / "c" / LAST).write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"last\.pt is damaged"):
        further(tmp_path / "c", 100)
    replace(run, agent=train(replace(CONFIG, lr=0.01), STEADY).agent).save(tmp_path / "d")
    with pytest.raises(InputError, match=r"last\.pt is of other agents than those of the run in this folder"):
        further(tmp_path / "d", 100)


@pytest.mark.parametrize("tricks", [STEADY, replace(STEADY, recurrent=True)], ids=["plain", "recurrent"])
def test_a_training_starts_from_the_agents_of_another(tricks: Tricks, tmp_path: Path) -> None:
    config = replace(CONFIG, minibatches=2)  # recurrent deals whole lanes
    run = train(config, tricks)
    run.save(tmp_path)
    started = train(replace(config, steps=1, lr=1e-30), tricks, checkpoints=StartFrom(tmp_path))
    for mine, theirs in zip(started.agent.parameters(), run.agent.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize(
    ("numbers", "tricks", "message"),
    [
        ({"env": "Acrobot-v1"}, STEADY, r"its agents have observations \[4\] and 2 actions, and this task has"),
        ({"seeds": 3, "lanes": 3}, STEADY, "it has 2 seeds, and this training 3"),
        ({"hidden": (4,)}, STEADY, r"is \[4, 8\] there and \[4, 4\] here; train with the same --hidden"),
        ({}, PPO, "this training has no obs_stats.rows; train with the same tricks"),
    ],
)
def test_other_agents_are_no_start(numbers: dict[str, Any], tricks: Tricks, message: str, tmp_path: Path) -> None:
    train(CONFIG, STEADY).save(tmp_path)
    with pytest.raises(InputError, match=f"^cannot start from {tmp_path}: .*{message}"):
        train(replace(CONFIG, **numbers), tricks, checkpoints=StartFrom(tmp_path))


def test_the_shell_goes_on_and_starts_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], refuses: Callable[..., None]
) -> None:
    run, small = str(tmp_path / "run"), ["--seeds", "1", "--lanes", "2", "--horizon", "50", "--hidden", "8"]
    assert main(["train", "ppo", *small, "--steps", "200", "--out", run, "--checkpoint-every", "100"]) == 0
    assert main(["train", "--continue", run, "--steps", "100", "--schedule", "end"]) == 0
    assert "continued from 200 to 300 steps" in capsys.readouterr().out
    assert load(run).config.steps == 300
    assert main(["train", "ppo", *small, "--steps", "100", "--start-from", run]) == 0
    for arguments, message in (
        (["--continue", run], "--continue needs --steps"),
        (["--continue", run, "--steps", "9", "--lr", "0.1"], "it takes no --lr"),
        (["--continue", run, "--steps", "9", "--schedule", "x"], "schedule must be whole or end, not 'x'"),
        (["--schedule", "end"], "--schedule needs --continue"),
        (["--start-from", str(tmp_path)], "no saved run in"),
    ):
        refuses(main, ["train", *arguments], message)
