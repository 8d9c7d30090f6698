"""What a file names is never imported, and what it pickles is never built."""

import json
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from support.training import interrupted

from ablations.cli import main as ablations
from tricks import PPO, Config, InputError, load, resume, train
from tricks.cli.main import main
from tricks.runs.about import digest, write_about
from tricks.runs.film import make_playable
from tricks.runs.folder import CHECKPOINT
from tricks.runs.tensor_files import sealed, tensor_bytes

ID = "stranger:Stranger-v0"
CODE = """
import gymnasium
gymnasium.register("Stranger-v0", "gymnasium.envs.classic_control:CartPoleEnv", max_episode_steps=9)
"""
CONFIG = Config("ShortCartPole-v0", seeds=(3, 1), steps=400, lanes=2, horizon=50, hidden=(4,), backend="gymnasium")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with its module beside it, from where Python would import it."""
    (tmp_path / "stranger.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "stranger", raising=False)
    train(CONFIG, PPO).save("run")
    rewrite(Path("run"), env=ID)
    return tmp_path / "run"


def rewrite(folder: Path, **config: str) -> None:
    """Change the Config in run.json, with the right checksum."""
    about = json.loads((folder / "run.json").read_text())
    about["config"] |= config
    del about["checksum"]
    (folder / "run.json").write_bytes(write_about(about))


@pytest.mark.parametrize("backend", ["auto", "gymnasium", "processes", "envpool", "tensor"])
def test_a_loaded_run_imports_nothing(folder: Path, backend: str) -> None:
    rewrite(folder, backend=backend)
    run = load(folder)
    run.agent.act(np.zeros((2, 1, 4)))
    for play in (lambda: run.evaluate(1), lambda: run.only(1).evaluate(1), lambda: make_playable(Config(ID), run.env)):
        with pytest.raises(InputError, match=r"add --env 'stranger:Stranger-v0'|needs gymnasium or processes"):
            play()
    assert "stranger" not in sys.modules


def test_a_named_module_is_imported_and_has_to_be_the_runs_own(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="was trained in 'stranger:Stranger-v0', not in 'other:Stranger-v0'"):
        load(folder, env="other:Stranger-v0")
    load(folder).save(tmp_path / "copy")  # which is no run of a custom environment
    assert "stranger" not in sys.modules
    assert load(tmp_path / "copy", env=ID).evaluate(1).max() <= 9
    assert "stranger" in sys.modules


def test_commands_import_only_what_the_command_line_names(folder: Path, refuses: Callable[..., None]) -> None:
    for command in (["play", str(folder), "--no-gif"], ["play", str(folder)]):
        refuses(main, command, "add --env 'stranger:Stranger-v0'")
    refuses(ablations, ["games", str(folder), "--games", "5"], "add --env 'stranger:Stranger-v0'")
    refuses(main, ["play", str(folder), "--env", "x:Y"], "was trained in 'stranger:Stranger-v0', not in 'x:Y'")
    assert "stranger" not in sys.modules
    assert main(["play", str(folder), "--no-gif", "--env", ID, "--episodes", "1"]) == 0
    assert ablations(["games", str(folder), "--env", ID, "--games", "5", "--out", str(folder.parent / "out")]) == 0


def test_resuming_imports_only_what_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, refuses: Callable[..., None]
) -> None:
    interrupted(folder.parent / "cut", CONFIG, PPO, 1, monkeypatch)
    path = folder.parent / "cut" / CHECKPOINT
    found = torch.load(path, weights_only=True)
    about = json.loads(found["about"])
    about["config"]["env"] = ID
    path.write_bytes(sealed(tensor_bytes(found | {"about": json.dumps(about)})))
    resuming = ["train", "--resume", str(path.parent)]
    refuses(main, resuming, "add --env 'stranger:Stranger-v0'")
    refuses(main, [*resuming, "--env", "CartPole-v1"], "was trained in 'stranger:Stranger-v0', not in 'CartPole-v1'")
    with pytest.raises(InputError, match="add --env"):
        resume(path.parent)
    assert "stranger" not in sys.modules
    assert main([*resuming, "--env", ID]) == 0
    assert load(path.parent).config == replace(CONFIG, env=ID)


class Shell:
    """Unpickling it would run a command."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return __import__("os").system, ("true",)


@pytest.mark.parametrize(("content", "said"), [(Shell(), "system"), (Fraction(1, 2), "fractions.Fraction")])
def test_a_pickled_object_is_named_and_not_built(folder: Path, content: object, said: str) -> None:
    rewrite(folder, env="CartPole-v1")
    forged = tensor_bytes({"policy_net.weight": content})
    (folder / "agent.pt").write_bytes(forged)
    about = json.loads((folder / "run.json").read_text())
    about["checksums"]["agent.pt"] = digest(forged)
    del about["checksum"]
    (folder / "run.json").write_bytes(write_about(about))
    (folder / CHECKPOINT).write_bytes(sealed(forged))
    for read in (load, resume):
        with pytest.raises(InputError, match=r"damaged.*it contains pickled Python code \(") as refused:
            read(folder)
        assert said in str(refused.value)
        assert "weights_only" not in str(refused.value)
        assert "\n" not in str(refused.value)


def test_a_plain_pickle_is_refused_in_a_line(folder: Path) -> None:
    (folder / CHECKPOINT).write_bytes(sealed(pickle.dumps(Shell(), 2)))
    with pytest.raises(InputError, match=r"checkpoint\.pt is damaged \(it contains pickled Python code \(\S*system\)"):
        resume(folder)
