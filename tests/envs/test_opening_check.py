"""What is odd about an environment is said once before training, and its runs bear its name."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
import support.contracts as own
from support.contracts import Counting

from tricks import PPO, REINFORCE, Checkpoints, Config, Evaluation, InputError, Run, load, train
from tricks.cli.main import main
from tricks.ladder import named
from tricks.runs import remarks
from tricks.runs.plot import curve_figure

SMALL = Config(seeds=1, steps=40, lanes=2, horizon=10, hidden=(4,))
MASKED = replace(PPO, action_mask=True)


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remarks, "SAID", set())


def test_a_box_far_wider_than_sigma_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        train(SMALL, PPO, env=own.WideBox)
    assert capsys.readouterr().err == (
        "WideBox has actions from -1000 to 1000, and the policy starts with σ = 1, so it explores about 1/1,000 of the "
        "range; --rescale-actions maps it to [-1, 1]\n"
    )


@pytest.mark.parametrize(
    ("numbers", "rung"), [({"rescale_actions": True}, "ppo"), ({"log_std_init": 5.0}, "ppo"), ({}, "squash")]
)
def test_a_box_as_wide_as_sigma_is_no_news(
    numbers: dict[str, Any], rung: str, capsys: pytest.CaptureFixture[str]
) -> None:
    train(replace(SMALL, **numbers), named(rung), env=own.WideBox)
    assert capsys.readouterr().err == ""


def test_masks_without_the_flag_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    train(SMALL, MASKED, env=own.Masked)
    assert capsys.readouterr().err == ""
    train(SMALL, PPO, env=own.Masked)
    assert capsys.readouterr().err == (
        "Masked says which actions are legal, which has no effect without --action-mask (action_mask=True)\n"
    )


def test_the_worlds_of_this_project_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    train(replace(SMALL, env="Taxi-v4"), PPO)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("numbers", [{"lanes": 2}, {"lanes": 1, "seeds": 2}])
def test_one_object_for_several_lanes_is_an_error(numbers: dict[str, Any]) -> None:
    only = Counting()
    for _ in range(2):
        with pytest.raises(InputError, match=r"^env= made the same Counting object for two lanes"):
            train(replace(SMALL, **numbers), PPO, env=lambda: only)


def test_one_object_is_enough_for_one_lane_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    only, alone = Counting(), replace(SMALL, lanes=1)
    for _ in range(2):
        assert len(train(alone, PPO, env=lambda: only).evaluate(1)) == 1
    train(alone, PPO, env=lambda: only, evaluation=Evaluation(20, 1))
    assert "an evaluation failed: env= made the same Counting object" in capsys.readouterr().err


def own_run(**numbers: Any) -> Run:
    return train(replace(SMALL, **numbers), PPO, env=Counting)


@pytest.mark.parametrize("backend", ["gymnasium", "processes"])
def test_a_run_of_ones_own_environment_is_named_after_its_class(backend: str, tmp_path: Path) -> None:
    run = own_run(backend=backend)
    assert run.config.env == "Counting"
    assert "Counting" in curve_figure(run).axes[0].get_title(loc="left")
    run.save(tmp_path)
    assert load(tmp_path, env=Counting).config.env == "Counting"
    assert own_run(env="mine").config.env == "mine"


def test_so_are_its_checkpoints_and_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(SMALL, PPO, env=Counting, checkpoints=Checkpoints(tmp_path, 10))
    from tricks.runs.checkpoint import read

    assert read(tmp_path).config.env == "Counting"
    with pytest.raises(InputError, match=r"^Counting: an episode has not ended after 3 steps"):
        train(replace(SMALL, episode_limit=3), REINFORCE, env=Counting)


def test_what_is_no_environment_of_gymnasiums_is_told_the_way_in() -> None:
    old = type("Old", (), {"__module__": "gym.envs"})
    with pytest.raises(InputError, match=r"must make a gymnasium.Env, not Old; shimmy turns environments"):
        train(SMALL, PPO, env=old)


REGISTERS = """
import gymnasium as gym
from support.contracts import Counting
gym.register("Script-v0", entry_point=Counting)
"""


def test_a_run_on_a_scripts_id_is_played_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a_script.py").write_text(REGISTERS)
    monkeypatch.syspath_prepend(tmp_path)
    gym.register("Script-v0", entry_point="support.contracts:Counting")
    folder = str(tmp_path / "run")
    train(replace(SMALL, env="Script-v0"), PPO).save(folder)
    del gym.registry["Script-v0"]
    capsys.readouterr()
    play = ["play", folder, "--episodes", "2", "--no-gif"]
    assert main(play) == 2
    assert "; if a module of yours registers it, name that: module:Script-v0" in capsys.readouterr().err
    assert main([*play, "--env", "a_script:Script-v0"]) == 0
    assert "in a_script:Script-v0, sampled actions: mean return 5.0" in capsys.readouterr().out
    assert main([*play, "--env", "a_script:Other-v0"]) == 2
    gym.registry.pop("Script-v0", None)
    sys.modules.pop("a_script", None)


def test_a_film_is_a_gif_or_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(SMALL, PPO).save(tmp_path)
    assert main(["play", str(tmp_path), "--gif", str(tmp_path / "x.mp4")]) == 2
    assert capsys.readouterr().err.endswith("play writes animated GIFs only, so the file's name must end in .gif\n")
