"""A run that was trained from Python in an environment of one's own is played, saved and continued from the shell."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import pytest
from support.training import interrupted

from tricks import PPO, Checkpoints, Config, InputError, load, train
from tricks.runs.files import CHECKPOINT

CODE = """
import gymnasium as gym
from gymnasium.envs.classic_control import CartPoleEnv

class Cart(CartPoleEnv): pass

def make():
    return gym.wrappers.TimeLimit(Cart(), 9)

def drawn(render_mode=None):
    return gym.wrappers.TimeLimit(Cart(render_mode=render_mode), 9)

gym.register("Mine-v0", Cart, max_episode_steps=9)
"""
Told = Callable[..., str]
CONFIG = Config(seeds=1, steps=400, lanes=2, horizon=50, hidden=(4,), backend="gymnasium")
SAID = "was trained in an environment of your own, whose module is imported only if you name it: add --env module:Id "


@pytest.fixture(autouse=True)
def _trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with last.pt, and the module of its environment where Python finds it."""
    Path("carts.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "carts", raising=False)
    monkeypatch.delitem(gym.registry, "Mine-v0", raising=False)
    train(CONFIG, PPO, env=own, checkpoints=Checkpoints("run", 100)).save("run")


def own() -> gym.Env:
    return gym.make("CartPole-v1", max_episode_steps=9)


@pytest.mark.parametrize("name", ["carts:Mine-v0", "carts:make"])
def test_every_command_takes_the_environment_by_name(name: str, told: Told) -> None:
    told(f"play run --env {name} --episodes 2 --no-gif")
    told(f"save-policy run --env {name} --out policy.pt")
    told(f"train --continue run --steps 100 --env {name}")
    assert load("run", env=name).evaluate(2).max() <= 9
    assert load("run").config.steps == 500


def test_a_training_in_a_function_by_name_is_saved_with_it_and_imports_it_only_if_named(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = "--seeds 1 --steps 200 --lanes 2 --horizon 50 --hidden 4 --checkpoint-every 100"
    assert "play named --env carts:drawn" in told(f"train ppo --env carts:drawn {small} --out named")
    monkeypatch.delitem(sys.modules, "carts")
    assert load("named").config.env == "carts:drawn"
    with pytest.raises(InputError, match="add --env 'carts:drawn'"):
        load("named").evaluate(1)
    told("play named --env carts:make --no-gif", 2)  # not the run's own
    assert "carts" not in sys.modules
    assert load("named", env="carts:drawn").evaluate(2).max() <= 9
    told("train --continue named --steps 100 --env carts:drawn")


@pytest.mark.parametrize(("name", "can"), [("carts:Mine-v0", True), ("carts:drawn", True), ("carts:make", False)])
def test_a_class_or_function_that_takes_a_render_mode_is_drawn(name: str, can: bool, told: Told) -> None:
    pytest.importorskip("pygame")
    told(f"play run --env {name} --episodes 1")
    assert Path("run/play.gif").is_file() == can


def test_without_a_name_the_message_says_what_to_add(told: Told) -> None:
    load("run").save("copy")
    for words, message in {
        "play run --no-gif": SAID,
        "train --continue run --steps 100": SAID,
        "play run --no-gif --env carts:Mine-v7": "carts:Mine-v0",
        "play run --no-gif --env Pendulum-v1": "but the agent was trained with",
        "play copy --no-gif": SAID,
    }.items():
        assert message in told(words, 2)


def test_a_line_that_says_how_to_resume_names_all_that_it_takes(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(CONFIG, env="carts:Mine-v0", wrap=("carts:make_harder",))
    Path("carts.py").write_text(f"{CODE}\ndef make_harder(env): return env\n")
    interrupted(Path("cut"), config, PPO, 1, monkeypatch)
    assert Path("cut", CHECKPOINT).is_file()
    command = "train --resume cut --env carts:Mine-v0 --wrap carts:make_harder"
    assert f"python -m tricks {command}" in told("train ppo --out cut", 2)
    told(command)
