"""An export is one file that needs nothing of this library, and trains the same curve."""

import ast
import math
import random
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from support.exports import code, executed

from tricks import ATARI, EVERY, PPG, PPO, REINFORCE, Config, InputError, Tricks, export, loop, recurrent, train
from tricks.config import CONTINUOUS_CONFIG
from tricks.core import layers, nets
from tricks.fast.dispatch import plain
from tricks.ladder import NEEDS, PRESETS, closed, named, rungs, switched
from tricks.runs.learning_curve import OF_BOX


def legal_sets(count: int, seed: int = 0) -> list[Tricks]:
    """Flags switched by chance, as often as not, wherever they go together."""
    rng, found = random.Random(seed), list[Tricks]()
    while len(found) < count:
        try:
            found.append(switched([name for name in NEEDS if rng.random() < 0.8 and name != "squash"]))  # for Discrete
        except InputError:
            continue
    return found


SETS = list(dict.fromkeys([*PRESETS.values(), *rungs(), *legal_sets(10)]))
EACH = pytest.mark.parametrize("tricks", SETS, ids=lambda tricks: "-".join(tricks.on) or "reinforce")


def assert_same_curve(tricks: Tricks, images: bool = False, **numbers: Any) -> None:
    module = executed(tricks, images)
    formulas = patch.multiple(nets, dense=layers.dense, affine=layers.affine)
    with plain(), formulas, patch.object(recurrent, "over_time", layers.over_time):  # an export has the plain formulas
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


@pytest.mark.parametrize("rung", ["reinforce+squash", "squash", "ppg+squash"])
def test_squashed_actions_too(rung: str) -> None:
    assert_same_curve(named(rung), env="ShortPendulum-v0", seeds=2, steps=300, lanes=2, horizon=16, aux_every=2)


def test_a_file_for_squashed_actions_refuses_others_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "squashing.py"
    path.write_text(export(named("squash")))
    done = subprocess.run([sys.executable, path, "--env", "CartPole-v1"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: squash needs Box actions between two finite bounds, not Discrete(2)")


def test_box_actions_of_whole_numbers_are_rounded_too() -> None:
    assert_same_curve(PPO, env="WholeNumbers-v0", seeds=2, steps=80, lanes=2, horizon=16)


def test_action_masks_too() -> None:
    assert_same_curve(switched(["action_mask"]), env="Forbidding-v0", seeds=2, steps=100, lanes=2, horizon=16)


@pytest.mark.parametrize("env", ["SmallPictures-v0", "LargePictures-v0"])
@pytest.mark.parametrize("tricks", [REINFORCE, ATARI], ids=["reinforce", "atari"])
def test_images_too_with_lives_that_end_episodes_and_signs_of_rewards(tricks: Tricks, env: str) -> None:
    numbers: dict[str, Any] = {"seeds": 2, "steps": 80, "lanes": 2, "horizon": 16, "life_ends": True}
    assert_same_curve(tricks, images=True, env=env, reward_sign=True, **numbers)


def test_games_too() -> None:
    pytest.importorskip("ale_py")
    numbers: dict[str, Any] = {"seeds": 1, "steps": 500, "lanes": 2, "horizon": 64, "reward_sign": True}
    assert_same_curve(ATARI, images=True, env="ALE/Breakout-v5", life_ends=True, **numbers)


def test_a_preset_s_own_numbers_are_the_defaults() -> None:
    module: dict[str, Any] = {"__name__": "exported"}
    exec(export(PPO, CONTINUOUS_CONFIG), module)
    config = module["Config"]()
    assert (config.env, config.horizon, config.epochs) == ("HalfCheetah-v5", 2048, 10)
    assert all(getattr(config, field.name) == getattr(CONTINUOUS_CONFIG, field.name) for field in fields(config))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All exports, as files."""
    folder = tmp_path_factory.mktemp("exports")
    for i, tricks in enumerate(SETS):
        (folder / f"export_{i}.py").write_text(code(tricks))
    (folder / "images.py").write_text(code(ATARI, images=True))
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
    for word in ("conv2d", "lives", "cuda", ".to(device", "envpool", "pandas", "state_dict", "checkpoints"):
        assert word not in code(tricks)


def test_what_only_a_trick_needs_comes_with_it() -> None:
    for name, trick in {"Memory": "ppg", "ObsStats": "state_norm", "ReturnStats": "return_norm"}.items():
        assert f"class {name}" in code(switched(closed([trick])))
        assert f"class {name}" not in code(PPO)


def test_ppo_fits_on_700_lines() -> None:
    assert len(code(PPO).splitlines()) <= 700
