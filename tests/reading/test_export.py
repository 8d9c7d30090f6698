"""An export is one file that needs nothing of this library, and trains the same curve."""

import ast
import math
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from tricks import EVERY, PPG, PPO, REINFORCE, Config, InputError, Tricks, export, loop, train
from tricks.cli.main import main
from tricks.core import layers, nets
from tricks.ladder import NEEDS, PRESETS, closed, rungs, switched
from tricks.runs.learning_curve import OF_BOX


def legal_sets(count: int, seed: int = 0) -> list[Tricks]:
    """Flags switched by chance, as often as not, wherever they go together."""
    rng, found = random.Random(seed), list[Tricks]()
    while len(found) < count:
        try:
            found.append(switched([name for name in NEEDS if rng.random() < 0.8]))
        except InputError:
            continue
    return found


SETS = list(dict.fromkeys([*PRESETS.values(), *rungs(), *legal_sets(10)]))
code = cache(export)
EACH = pytest.mark.parametrize("tricks", SETS, ids=lambda tricks: "-".join(tricks.on) or "reinforce")


def executed(tricks: Tricks) -> dict[str, Any]:
    module: dict[str, Any] = {"__name__": "exported"}
    exec(code(tricks), module)
    return module


def assert_same_curve(tricks: Tricks, **numbers: Any) -> None:
    module = executed(tricks)
    with patch.multiple(nets, tanh_layer=layers.tanh_layer, product=layers.product):  # an export has the plain formulas
        curve = train(Config(backend="gymnasium", **numbers), tricks).curve
    known = {field.name for field in fields(module["Config"])}
    run = module["train"](module["Config"](**{name: numbers[name] for name in numbers if name in known}))
    rows = sorted(run.curve, key=lambda row: row["seed"])
    assert len(rows) == len(curve)
    for name in curve.columns.difference(list(OF_BOX)):  # an export does not measure these
        mine = np.array([row.get(name, math.nan) for row in rows])
        np.testing.assert_array_equal(mine, curve[name].to_numpy(float), err_msg=name)


@EACH
def test_an_export_trains_the_same_curve(tricks: Tricks) -> None:
    assert_same_curve(tricks, env="ShortCartPole-v0", seeds=2, steps=150, lanes=2, horizon=16, epochs=2, minibatches=2)


def test_a_seed_whose_auxiliary_loss_is_not_finite_ends_in_the_export_too(monkeypatch: pytest.MonkeyPatch) -> None:
    module = executed(PPG)
    for place in (module, vars(loop)):
        right = place["auxiliary_loss"]
        monkeypatch.setitem(place, "auxiliary_loss", lambda *given, right=right: right(*given) * math.nan)
    numbers: dict[str, Any] = {"env": "ShortCartPole-v0", "seeds": 1, "steps": 250, "lanes": 2, "horizon": 16}
    run = module["train"](module["Config"](**numbers, aux_every=2))
    assert len(run.curve) == len(train(Config(**numbers, aux_every=2), PPG).curve) == 2


def test_the_numbers_are_the_library_s() -> None:
    config = executed(EVERY)["Config"]()
    assert all(getattr(config, field.name) == getattr(Config(), field.name) for field in fields(config))


def test_return_statistics_that_start_from_the_first_batch_too() -> None:
    numbers: dict[str, Any] = {"env": "ShortCartPole-v0", "seeds": 2, "steps": 250, "lanes": 2, "horizon": 16}
    assert_same_curve(switched(closed(["popart"])), **numbers, return_first_batch=True)


@pytest.mark.parametrize("tricks", [REINFORCE, PPO], ids=["reinforce", "ppo"])
def test_box_actions_too(tricks: Tricks) -> None:
    assert_same_curve(tricks, env="Pendulum-v1", seeds=2, steps=450, lanes=2, horizon=32)


def test_action_masks_too() -> None:
    assert_same_curve(switched(["action_mask"]), env="Forbidding-v0", seeds=2, steps=100, lanes=2, horizon=16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All exports, as files."""
    folder = tmp_path_factory.mktemp("exports")
    for i, tricks in enumerate(SETS):
        (folder / f"export_{i}.py").write_text(code(tricks))
    return folder


def test_exports_are_formatted_and_clean(folder: Path) -> None:
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or pytest.skip("ruff is not installed")
    options = ["--isolated", "--line-length=120"]
    for command in (["format", "--diff"], ["check", "--select=E,F,I,B,UP,SIM"]):
        done = subprocess.run([ruff, *command, *options, folder], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@EACH
def test_an_export_needs_torch_numpy_and_gymnasium_only(tricks: Tricks) -> None:
    for node in ast.walk(ast.parse(code(tricks))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert {name.split(".")[0] for name in names} <= {"torch", "numpy", "gymnasium", *sys.stdlib_module_names}


@EACH
def test_nothing_in_an_export_is_unused(tricks: Tricks) -> None:
    nodes = list(ast.walk(ast.parse(code(tricks))))
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    used |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    used |= {str(node.value) for node in nodes if isinstance(node, ast.Constant)}  # "Batch" as an annotation
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert {name for name in defined if not name.startswith("__")} <= used | {"forward", "backward"}


@EACH
def test_images_devices_and_other_backends_are_left_out(tricks: Tricks) -> None:
    for word in ("conv2d", "uint8", "cuda", ".to(device", "envpool", "pandas", "state_dict", "checkpoints"):
        assert word not in code(tricks)


def test_what_only_a_trick_needs_comes_with_it() -> None:
    for name, trick in {"Memory": "ppg", "Moments": "state_norm", "ReturnStats": "return_norm"}.items():
        assert f"class {name}" in code(switched(closed([trick])))
        assert f"class {name}" not in code(PPO)


def test_ppo_fits_on_600_lines() -> None:
    assert len(code(PPO).splitlines()) <= 600


def test_export_on_the_command_line(capsys: pytest.CaptureFixture[str], refuses: Callable[..., None]) -> None:
    assert main(["export", "ppo", "--no-gae"]) == 0
    assert capsys.readouterr().out == code(switched([name for name in PPO.on if name != "gae"]))
    refuses(main, ["export", "pop"], "'pop'")
    refuses(main, ["export", "reinforce", "--gae"], "baseline")


def test_an_export_runs_as_a_program(tmp_path: Path) -> None:
    path = tmp_path / "ppo.py"
    path.write_text(export(PPO))
    command = [
        sys.executable,
        str(path),
        *["--env", "CartPole-v1", "--seeds", "2", "--steps", "3000", "--hidden", "32", "32"],
    ]
    out = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert "return" in out
    assert "seed 0: " in out
    assert "seed 1: " in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seeds", "0"], "--seeds must be between 1 and"),
        (["--lr", "-1"], "--lr must be between 0 and"),
        (["--gamma", "nan"], "--gamma must be between 0 and 1, not nan"),
        (["--hidden", "8", "0"], "--hidden must be between 1 and"),
        (["--seeds", "many"], "--seeds"),
        (["--nonsense", "3"], "--nonsense"),
    ],
)
def test_an_export_refuses_numbers_out_of_range_in_one_line(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = executed(PPO)
    monkeypatch.setattr(sys, "argv", ["ppo.py", *options])
    with pytest.raises(SystemExit) as stop:
        module["main"](module["train"])
    message = capsys.readouterr().err
    assert stop.value.code == 2
    assert message.count("\n") == 1
    assert said in message


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ("Nonsense-v0", "Nonsense"),
        ("nonsense:Cart-v0", "nonsense"),
        ("CarRacing-v3", ""),
        ("Blackjack-v1", "Tuple"),
        ("CartPole-v1", "CartPole-v1: action_mask needs"),
        ("Pendulum-v1", "Pendulum-v1: action_mask needs"),
    ],
)
def test_an_export_refuses_in_one_line(
    env: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = executed(EVERY if "mask" in said else PPO)
    monkeypatch.setattr(sys, "argv", ["ppo.py", "--env", env])
    with pytest.raises(SystemExit) as stop:
        module["main"](module["train"])
    message = capsys.readouterr().err
    assert stop.value.code == 2
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    assert said in message
