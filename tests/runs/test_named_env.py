"""A run that was trained from Python in an environment of one's own is played, saved and continued from the shell."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import pytest
from support.training import interrupted

from tricks import PPO, Checkpoints, Config, InputError, load, train
from tricks.cli.main import main
from tricks.runs.folder import CHECKPOINT

CODE = """
import gymnasium as gym
from gymnasium.envs.classic_control import CartPoleEnv

class Cart(CartPoleEnv):
    pass

def make():
    return gym.wrappers.TimeLimit(Cart(), 9)

def drawn(render_mode=None):
    return gym.wrappers.TimeLimit(Cart(render_mode=render_mode), 9)

gym.register("Mine-v0", Cart, max_episode_steps=9)
"""
CONFIG = Config(seeds=1, steps=400, lanes=2, horizon=50, hidden=(4,), backend="gymnasium")
SAID = "was trained in an environment of your own, whose module is imported only if you name it: add --env module:Id "


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with last.pt, and the module of its environment where Python finds it."""
    (tmp_path / "carts.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "carts", raising=False)
    monkeypatch.delitem(gym.registry, "Mine-v0", raising=False)
    train(CONFIG, PPO, env=own, checkpoints=Checkpoints(tmp_path / "run", 100)).save(tmp_path / "run")
    return tmp_path / "run"


def own() -> gym.Env:
    return gym.make("CartPole-v1", max_episode_steps=9)


@pytest.mark.parametrize("name", ["carts:Mine-v0", "carts:make"])
def test_every_command_takes_the_environment_by_name(name: str, folder: Path, tmp_path: Path) -> None:
    named = ["--env", name]
    assert main(["play", str(folder), *named, "--episodes", "2", "--no-gif"]) == 0
    assert main(["save-policy", str(folder), *named, "--out", str(tmp_path / "policy.pt")]) == 0
    assert main(["train", "--continue", str(folder), "--steps", "100", *named]) == 0
    assert load(folder, env=name).evaluate(2).max() <= 9
    assert load(folder).config.steps == 500


def test_a_class_is_drawn_if_it_can_be(folder: Path) -> None:
    pytest.importorskip("pygame")
    assert main(["play", str(folder), "--env", "carts:Mine-v0", "--episodes", "1"]) == 0
    assert (folder / "play.gif").is_file()


def test_a_training_in_a_function_by_name_is_saved_with_it_and_imports_it_only_if_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--seeds", "1", "--steps", "200", "--lanes", "2", "--horizon", "50", "--hidden", "4"]
    run, kept = str(tmp_path / "named"), ["--checkpoint-every", "100"]
    assert main(["train", "ppo", "--env", "carts:drawn", *small, *kept, "--out", run]) == 0
    assert f"play {run} --env carts:drawn" in capsys.readouterr().out
    monkeypatch.delitem(sys.modules, "carts")
    assert load(run).config.env == "carts:drawn"
    with pytest.raises(InputError, match="add --env 'carts:drawn'"):
        load(run).evaluate(1)
    assert main(["play", run, "--env", "carts:make", "--no-gif"]) == 2  # not the run's own
    assert "carts" not in sys.modules
    assert load(run, env="carts:drawn").evaluate(2).max() <= 9
    assert main(["train", "--continue", run, "--steps", "100", "--env", "carts:drawn"]) == 0


@pytest.mark.parametrize(("name", "can"), [("carts:drawn", True), ("carts:make", False)])
def test_a_function_that_takes_a_render_mode_is_drawn(name: str, can: bool, folder: Path) -> None:
    pytest.importorskip("pygame")
    assert main(["play", str(folder), "--env", name, "--episodes", "1"]) == 0
    assert (folder / "play.gif").is_file() == can


def test_without_a_name_the_message_says_what_to_add(folder: Path, refuses: Callable[..., None]) -> None:
    for command in (["play", str(folder), "--no-gif"], ["train", "--continue", str(folder), "--steps", "100"]):
        refuses(main, command, SAID)
    refuses(main, ["play", str(folder), "--no-gif", "--env", "carts:Mine-v7"], "carts:Mine-v0")
    refuses(main, ["play", str(folder), "--no-gif", "--env", "Pendulum-v1"], "but the agent was trained with")
    load(folder).save(folder.parent / "copy")
    refuses(main, ["play", str(folder.parent / "copy"), "--no-gif"], SAID)


def test_a_line_that_says_how_to_resume_names_all_that_it_takes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, refuses: Callable[..., None]
) -> None:
    config = replace(CONFIG, env="carts:Mine-v0", wrap=("carts:make_harder",))
    (folder.parent / "carts.py").write_text(f"{CODE}\ndef make_harder(env): return env\n")
    cut = folder.parent / "cut"
    interrupted(cut, config, PPO, 1, monkeypatch)
    assert (cut / CHECKPOINT).is_file()
    command = f"python -m tricks train --resume {cut} --env carts:Mine-v0 --wrap carts:make_harder"
    refuses(main, ["train", "ppo", "--out", str(cut)], command)
    assert main(command.split()[3:]) == 0
