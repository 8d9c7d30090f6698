"""What a file names is never imported unless the user names it, and what it pickles is never built."""

import pickle
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from support.fixtures import Patch, Refuses, Told, refusal
from support.training import interrupted, reseal, rewrite

from tricks import PPO, Checkpoints, Config, load, resume, train
from tricks.runs.about import digest, sealed, tensor_bytes
from tricks.runs.files import CHECKPOINT
from tricks.runs.film import filmed

ID = "carts:Mine-v0"
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
CONFIG = Config("ShortCartPole-v0", seeds=(3, 1), steps=400, lanes=2, horizon=50, hidden=(4,), backend="gymnasium")
SAID = "was trained in an environment of your own, whose module is imported only if you name it: add --env module:Id "


@pytest.fixture(autouse=True)
def _carts(tmp_path: Path, monkeypatch: Patch) -> None:
    """The module of an environment, from where Python would import it."""
    Path("carts.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "carts", raising=False)
    monkeypatch.delitem(gym.registry, "Mine-v0", raising=False)


@pytest.fixture
def stranger() -> None:
    """A run that says that it was trained in that environment."""
    train(CONFIG, PPO).save("run")
    rewrite("run", lambda about: about["config"].update(env=ID))


def own() -> gym.Env:
    return gym.make("CartPole-v1", max_episode_steps=9)


@pytest.fixture
def mine() -> None:
    """A run, with last.pt, in an environment that a function made."""
    train(replace(CONFIG, env=Config.env, seeds=1), PPO, env=own, checkpoints=Checkpoints("run", 100)).save("run")


STRANGER, MINE = map(pytest.mark.usefixtures, ("stranger", "mine"))


@STRANGER
@pytest.mark.parametrize("backend", ["auto", "gymnasium", "processes", "envpool", "tensor"])
def test_a_loaded_run_imports_nothing(backend: str) -> None:
    rewrite("run", lambda about: about["config"].update(backend=backend))
    run = load("run")
    run.agent.act(np.zeros((2, 1, 4)))
    for play in (lambda: run.evaluate(1), lambda: run.only(1).evaluate(1), lambda: filmed(run.only(1), False)):
        refusal(r"add --env 'carts:Mine-v0'|needs gymnasium or processes", play)
    assert "carts" not in sys.modules


@STRANGER
def test_commands_import_only_what_the_command_line_names(told: Told, refuses: Refuses) -> None:
    assert all("add --env 'carts:Mine-v0'" in told(words, 2) for words in ("play run --no-gif", "play run"))
    assert "was trained in 'carts:Mine-v0', not in 'x:Y'" in told("play run --env x:Y", 2)
    assert "carts" not in sys.modules
    told(f"play run --no-gif --env {ID} --episodes 1")
    assert "carts" in sys.modules


def test_resuming_imports_only_what_is_named(told: Told, monkeypatch: Patch) -> None:
    interrupted(Path("cut"), CONFIG, PPO, 1, monkeypatch)
    reseal(Path("cut", CHECKPOINT), lambda about, _: about["config"].update(env=ID))
    assert "add --env 'carts:Mine-v0'" in told("train --resume cut", 2)
    said = told("train --resume cut --env CartPole-v1", 2)
    assert "was trained in 'carts:Mine-v0', not in 'CartPole-v1'" in said
    refusal("add --env", resume, "cut")
    assert "carts" not in sys.modules
    told(f"train --resume cut --env {ID}")
    assert load("cut").config == replace(CONFIG, env=ID)


class Shell:
    """Unpickling it would run a command."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return __import__("os").system, ("true",)


@STRANGER
@pytest.mark.parametrize(("content", "said"), [(Shell(), "system"), (Fraction(1, 2), "fractions.Fraction")])
def test_a_pickled_object_is_named_and_not_built(content: object, said: str) -> None:
    forged = tensor_bytes({"policy_net.weight": content})
    Path("run/agent.pt").write_bytes(forged)
    rewrite("run", lambda about: about["checksums"].update({"agent.pt": digest(forged)}))
    for read, file in ((load, forged), (resume, forged), (resume, pickle.dumps(content, 2))):
        Path("run", CHECKPOINT).write_bytes(sealed(file))
        refused = refusal(r"damaged.*it contains pickled Python code \(", read, "run")
        assert said in refused
        assert "weights_only" not in refused


@MINE
@pytest.mark.parametrize("name", ["carts:Mine-v0", "carts:make"])
def test_every_command_takes_the_environment_by_name_or_says_what_to_add(name: str, told: Told) -> None:
    assert all(SAID in told(words, 2) for words in ("play run --no-gif", "train --continue run --steps 100"))
    told(f"play run --env {name} --episodes 2 --no-gif")
    told(f"save-policy run --env {name} --out policy.pt2")
    told(f"train --continue run --steps 100 --env {name}")
    assert load("run", env=name).evaluate(2).max() <= 9
    assert load("run").config.steps == 500


def test_a_function_by_name_is_saved_and_imported_only_if_named(told: Told, monkeypatch: Patch) -> None:
    small = "--seeds 1 --steps 200 --lanes 2 --horizon 50 --hidden 4 --checkpoint-every 100"
    assert "play named --env carts:drawn" in told(f"train ppo --env carts:drawn {small} --out named")
    monkeypatch.delitem(sys.modules, "carts")
    assert load("named").config.env == "carts:drawn"
    refusal("add --env 'carts:drawn'", load("named").evaluate, 1)
    told("play named --env carts:make --no-gif", 2)  # not the run's own
    assert "carts" not in sys.modules
    assert load("named", env="carts:drawn").evaluate(2).max() <= 9
    told("train --continue named --steps 100 --env carts:drawn")


@MINE
@pytest.mark.parametrize(("name", "can"), [("carts:Mine-v0", True), ("carts:drawn", True), ("carts:make", False)])
def test_a_class_or_function_that_takes_a_render_mode_is_drawn(name: str, can: bool, told: Told) -> None:
    pytest.importorskip("pygame")
    told(f"play run --env {name} --episodes 1")
    assert Path("run/play.gif").is_file() == can
