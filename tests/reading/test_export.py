"""An export is one file that needs nothing of this library, and trains the same curve."""

import ast
import math
import random
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import fields
from itertools import combinations, product
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
from tricks.ladder import NEEDS, closed, named, switched
from tricks.runs.learning_curve import OF_BOX

FLAGS = [name for name in NEEDS if name != "squash"]  # these sets are for Discrete actions
Pair = tuple[str, bool, str, bool]


def pairs(tricks: Tricks) -> set[Pair]:
    return {(a, getattr(tricks, a), b, getattr(tricks, b)) for a, b in combinations(FLAGS, 2)}


def drawn(pair: Pair, rng: random.Random, share: float) -> Tricks | None:
    """A legal set with this pair, and a share of all other flags that fit; None if the pair itself does not."""
    a, a_is_on, b, b_is_on = pair
    tricks, others = None, rng.sample(FLAGS, round(share * len(FLAGS)))
    for more in ((), *((name,) for name in others)):
        with suppress(InputError):
            on = [*([a] * a_is_on), *([b] * b_is_on), *(tricks.on if tricks else ()), *more]
            found = switched(closed(on))
            tricks = found if pair in pairs(found) else tricks
    return tricks


def covering() -> list[Tricks]:
    """A few sets in which every two flags are on or off together in every way that is legal."""
    rng, found = random.Random(0), [REINFORCE]
    every = [(a, x, b, y) for a, b in combinations(FLAGS, 2) for x, y in product((True, False), repeat=2)]
    left = {pair for pair in every if drawn(pair, rng, 0)} - pairs(REINFORCE)
    while left:
        pair = rng.choice(sorted(left))
        sets = [tricks for _ in range(10) if (tricks := drawn(pair, rng, rng.random()))]
        found.append(max(sets, key=lambda tricks: len(pairs(tricks) & left)))
        left -= pairs(found[-1])
    return found


SETS = covering()
EACH = pytest.mark.parametrize("tricks", SETS, ids=lambda tricks: f"{len(tricks.on)} flags")


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
def test_an_export_trains_the_same_curve_under_every_pair_of_flags(tricks: Tricks) -> None:
    assert_same_curve(tricks, env="ShortCartPole-v0", seeds=2, steps=150, lanes=2, horizon=16, epochs=2, minibatches=2)


SMALL: dict[str, Any] = {"env": "ShortCartPole-v0", "seeds": 2, "steps": 250, "lanes": 2, "horizon": 16}
OTHERS: dict[str, tuple[Tricks, dict[str, Any]]] = {
    "return statistics from the first batch": (switched(closed(["popart"])), {"return_first_batch": True}),
    "Box actions of reinforce": (REINFORCE, {"env": "Pendulum-v1", "steps": 450, "horizon": 32}),
    "Box actions of ppo": (PPO, {"env": "Pendulum-v1", "steps": 450, "horizon": 32}),
    "squashed actions of reinforce": (named("reinforce+squash"), {"env": "ShortPendulum-v0"}),
    "squashed actions": (named("squash"), {"env": "ShortPendulum-v0"}),
    "squashed actions of ppg": (named("ppg+squash"), {"env": "ShortPendulum-v0", "aux_every": 2}),
    "whole numbers, which are rounded": (PPO, {"env": "WholeNumbers-v0", "steps": 80}),
    "action masks": (switched(["action_mask"]), {"env": "Forbidding-v0", "steps": 100}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_so_it_does_with_other_numbers_and_actions(name: str) -> None:
    tricks, numbers = OTHERS[name]
    assert_same_curve(tricks, **SMALL | numbers)


def test_a_seed_whose_auxiliary_loss_is_not_finite_ends_in_the_export_too(monkeypatch: pytest.MonkeyPatch) -> None:
    module = executed(PPG)
    for place in (module, vars(loop)):
        right = place["auxiliary_loss"]
        monkeypatch.setitem(place, "auxiliary_loss", lambda *given, right=right: right(*given) * math.nan)
    numbers = SMALL | {"seeds": 1, "aux_every": 2}
    run = module["train"](module["Config"](**numbers))
    assert len(run.curve) == len(train(Config(**numbers), PPG).curve) == 2


@pytest.mark.parametrize("env", ["SmallPictures-v0", "LargePictures-v0"])
@pytest.mark.parametrize("tricks", [REINFORCE, ATARI], ids=["reinforce", "atari"])
def test_images_too_with_lives_that_end_episodes_and_signs_of_rewards(tricks: Tricks, env: str) -> None:
    numbers: dict[str, Any] = {"seeds": 2, "steps": 80, "lanes": 2, "horizon": 16, "life_ends": True}
    assert_same_curve(tricks, images=True, env=env, reward_sign=True, **numbers)


def test_games_too() -> None:
    pytest.importorskip("ale_py")
    numbers: dict[str, Any] = {"seeds": 1, "steps": 500, "lanes": 2, "horizon": 64, "reward_sign": True}
    assert_same_curve(ATARI, images=True, env="ALE/Breakout-v5", life_ends=True, **numbers)


@pytest.mark.parametrize(("tricks", "numbers"), [(EVERY, Config()), (PPO, CONTINUOUS_CONFIG)])
def test_a_preset_s_own_numbers_are_the_defaults(tricks: Tricks, numbers: Config) -> None:
    module: dict[str, Any] = {"__name__": "exported"}
    exec(export(tricks, numbers), module)
    config = module["Config"]()
    assert all(getattr(config, field.name) == getattr(numbers, field.name) for field in fields(config))


def test_exports_are_formatted_and_clean(tmp_path: Path) -> None:
    for i, text in enumerate([*map(code, SETS), code(named("squash")), code(ATARI, images=True)]):
        (tmp_path / f"export_{i}.py").write_text(text)
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or pytest.skip("ruff is not installed")
    for command in (["format", "--diff"], ["check", "--select=E,F,I,B,UP,SIM"]):
        options = ["--isolated", "--line-length=120", str(tmp_path)]
        done = subprocess.run([ruff, *command, *options], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@EACH
def test_an_export_needs_torch_numpy_and_gymnasium_only_and_has_nothing_that_it_does_not_use(tricks: Tricks) -> None:
    nodes = list(ast.walk(ast.parse(code(tricks))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in names} <= {"torch", "numpy", "gymnasium", *sys.stdlib_module_names}
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    used |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    used |= {str(node.value) for node in nodes if isinstance(node, ast.Constant)}  # "Batch" as an annotation
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert {name for name in defined if not name.startswith("__")} <= used | {"forward", "backward"}
    for word in ("conv2d", "lives", "cuda", ".to(device", "envpool", "pandas", "state_dict", "checkpoints"):
        assert word not in code(tricks)


def test_what_only_a_trick_needs_comes_with_it() -> None:
    for name, trick in {"Memory": "ppg", "ObsStats": "state_norm", "ReturnStats": "return_norm"}.items():
        assert f"class {name}" in code(switched(closed([trick])))
        assert f"class {name}" not in code(PPO)
    assert len(code(PPO).splitlines()) <= 700
