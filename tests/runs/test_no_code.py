"""What a file names is never imported, and what it pickles is never built."""

import json
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.training import interrupted

from ablations.cli import main as ablations
from tricks import PPO, Config, InputError, load, resume, train
from tricks.runs.about import digest, sealed, tensor_bytes, write_about
from tricks.runs.files import CHECKPOINT
from tricks.runs.film import make_playable

Told = Callable[..., str]
ID = "stranger:Stranger-v0"
CODE = """
import gymnasium
gymnasium.register("Stranger-v0", "gymnasium.envs.classic_control:CartPoleEnv", max_episode_steps=9)
"""
CONFIG = Config("ShortCartPole-v0", seeds=(3, 1), steps=400, lanes=2, horizon=50, hidden=(4,), backend="gymnasium")


@pytest.fixture(autouse=True)
def _trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with its module beside it, from where Python would import it."""
    Path("stranger.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "stranger", raising=False)
    train(CONFIG, PPO).save("run")
    rewrite(lambda about: about["config"].update(env=ID))


def rewrite(change: Callable[[Any], object]) -> None:
    """Change run.json, with the right checksum."""
    about = json.loads(Path("run/run.json").read_text())
    change(about)
    del about["checksum"]
    Path("run/run.json").write_bytes(write_about(about))


@pytest.mark.parametrize("backend", ["auto", "gymnasium", "processes", "envpool", "tensor"])
def test_a_loaded_run_imports_nothing(backend: str) -> None:
    rewrite(lambda about: about["config"].update(backend=backend))
    run = load("run")
    run.agent.act(np.zeros((2, 1, 4)))
    for play in (lambda: run.evaluate(1), lambda: run.only(1).evaluate(1), lambda: make_playable(Config(ID), run.env)):
        with pytest.raises(InputError, match=r"add --env 'stranger:Stranger-v0'|needs gymnasium or processes"):
            play()
    assert "stranger" not in sys.modules


def test_a_named_module_is_imported_and_has_to_be_the_runs_own() -> None:
    with pytest.raises(InputError, match="was trained in 'stranger:Stranger-v0', not in 'other:Stranger-v0'"):
        load("run", env="other:Stranger-v0")
    load("run").save("copy")  # which is no run of a custom environment
    assert "stranger" not in sys.modules
    assert load("copy", env=ID).evaluate(1).max() <= 9
    assert "stranger" in sys.modules


def test_commands_import_only_what_the_command_line_names(told: Told, refuses: Callable[..., None]) -> None:
    for words in ("play run --no-gif", "play run"):
        assert "add --env 'stranger:Stranger-v0'" in told(words, 2)
    refuses(ablations, ["games", "run", "--games", "5"], "add --env 'stranger:Stranger-v0'")
    assert "was trained in 'stranger:Stranger-v0', not in 'x:Y'" in told("play run --env x:Y", 2)
    assert "stranger" not in sys.modules
    told(f"play run --no-gif --env {ID} --episodes 1")
    assert ablations(["games", "run", "--env", ID, "--games", "5", "--out", "out"]) == 0


def test_resuming_imports_only_what_is_named(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(Path("cut"), CONFIG, PPO, 1, monkeypatch)
    path = Path("cut", CHECKPOINT)
    found = torch.load(path, weights_only=True)
    about = json.loads(found["about"])
    about["config"]["env"] = ID
    path.write_bytes(sealed(tensor_bytes(found | {"about": json.dumps(about)})))
    assert "add --env 'stranger:Stranger-v0'" in told("train --resume cut", 2)
    said = told("train --resume cut --env CartPole-v1", 2)
    assert "was trained in 'stranger:Stranger-v0', not in 'CartPole-v1'" in said
    with pytest.raises(InputError, match="add --env"):
        resume("cut")
    assert "stranger" not in sys.modules
    told(f"train --resume cut --env {ID}")
    assert load("cut").config == replace(CONFIG, env=ID)


class Shell:
    """Unpickling it would run a command."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return __import__("os").system, ("true",)


@pytest.mark.parametrize(("content", "said"), [(Shell(), "system"), (Fraction(1, 2), "fractions.Fraction")])
def test_a_pickled_object_is_named_and_not_built(content: object, said: str) -> None:
    forged = tensor_bytes({"policy_net.weight": content})
    Path("run/agent.pt").write_bytes(forged)
    rewrite(lambda about: about["checksums"].update({"agent.pt": digest(forged)}))
    for read, file in ((load, forged), (resume, forged), (resume, pickle.dumps(content, 2))):
        Path("run", CHECKPOINT).write_bytes(sealed(file))
        with pytest.raises(InputError, match=r"damaged.*it contains pickled Python code \(") as refused:
            read("run")
        assert said in str(refused.value)
        assert "weights_only" not in str(refused.value)
        assert "\n" not in str(refused.value)
