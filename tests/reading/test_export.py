"""An export is the one agent with its flags decided: a program that needs nothing of this package."""

import ast
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from tricks import PPO, REINFORCE, Config, InputError, Tricks, export, one_agent
from tricks.cli.main import main
from tricks.config import CONTINUOUS_CONFIG
from tricks.ladder import LADDER, closed, named, switched

code = cache(export)
Pair = tuple[str, bool, str, bool]


def pairs(tricks: Tricks) -> set[Pair]:
    return {(a, getattr(tricks, a), b, getattr(tricks, b)) for a, b in combinations(LADDER, 2)}


def drawn(pair: Pair, rng: random.Random, share: float) -> Tricks | None:
    """A legal set with this pair, and a share of all other flags that fit; None if the pair itself does not."""
    a, a_is_on, b, b_is_on = pair
    tricks, others = None, rng.sample(LADDER, round(share * len(LADDER)))
    for more in ((), *((name,) for name in others)):
        with suppress(InputError):
            on = [*([a] * a_is_on), *([b] * b_is_on), *(tricks.on if tricks else ()), *more]
            found = switched(closed(on))
            tricks = found if pair in pairs(found) else tricks
    return tricks


def covering() -> list[Tricks]:
    """A few sets in which every two flags are on or off together in every way that is legal."""
    rng, found = random.Random(0), [REINFORCE, PPO]
    every = [(a, x, b, y) for a, b in combinations(LADDER, 2) for x, y in product((True, False), repeat=2)]
    left = {pair for pair in every if drawn(pair, rng, 0)} - pairs(REINFORCE) - pairs(PPO)
    while left:
        pair = rng.choice(sorted(left))
        sets = [tricks for _ in range(10) if (tricks := drawn(pair, rng, rng.random()))]
        found.append(max(sets, key=lambda tricks: len(pairs(tricks) & left)))
        left -= pairs(found[-1])
    return found


SETS = covering()
EACH = pytest.mark.parametrize("tricks", SETS, ids=lambda tricks: f"{len(tricks.on)} flags")


@EACH
@pytest.mark.parametrize("env", ["ShortCartPole-v0", "ShortPendulum-v0"])
def test_an_export_trains_the_same_curve(tricks: Tricks, env: str) -> None:
    if "Pendulum" in env:
        tricks = switched([name for name in tricks.on if name != "action_mask"])
    module: dict[str, Any] = {"__name__": "exported"}
    exec(code(tricks), module)
    numbers: dict[str, Any] = {"env": env, "seed": 3, "steps": 100, "lanes": 2, "horizon": 16}
    expected = one_agent.train(one_agent.Config(**numbers), tricks)[1]
    assert str(module["train"](module["Config"](**numbers))[1]) == str(expected)


def test_exports_are_formatted_and_clean(tmp_path: Path) -> None:
    for i, tricks in enumerate(SETS):
        (tmp_path / f"export_{i}.py").write_text(code(tricks))
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or pytest.skip("ruff is not installed")
    for command in (["format", "--diff"], ["check", "--select=E,F,I,UP,SIM"]):
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
    used |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    kept = {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    numbers = {
        node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert {name for name in defined | kept | numbers if not name.startswith("__")} <= used | {"data"}
    assert "tricks" not in re.sub('""".*?"""', "", code(tricks), flags=re.DOTALL)


def test_it_is_short() -> None:
    assert len(code(REINFORCE).splitlines()) <= 185
    assert len(code(PPO).splitlines()) <= 220


def test_numbers_become_defaults() -> None:
    text = export(PPO, Config("Hopper-v5", seeds=3, hidden=(32, 32), lr=3e-4, value_epochs=10))
    for line in ('env: str = "Hopper-v5"', "hidden: int = 32", "lr: float = 0.0003", '"--seeds", type=int, default=3'):
        assert line in text
    assert "horizon: int = 2_048" in export(PPO, CONTINUOUS_CONFIG)


@pytest.mark.parametrize(
    ("rung", "numbers", "said"),
    [
        ("ppg", {}, "python -m tricks listing"),
        ("atari", {}, "not shared_trunk"),
        ("ppo", {"device": "cuda"}, "no --device"),
        ("ppo", {"backend": "envpool"}, "no --backend"),
        ("ppo", {"episode_limit": 5}, "no --episode-limit"),
        ("ppo", {"stack": 4}, "no --stack"),
        ("ppo", {"env_args": {"gravity": -5}}, "no --env-args"),
        ("state_norm", {"obs_decay": 0.1}, "no --obs-decay"),
        ("ppo", {"hidden": (64,)}, "two hidden layers"),
        ("ppo", {"seeds": (3, 4)}, "--seeds, not (3, 4)"),
        ("ppo", {"seeds": 2, "lr": (0.1, 0.2)}, "one --lr for all seeds"),
    ],
)
def test_what_an_export_cannot_have_is_refused(rung: str, numbers: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        export(named(rung), Config(**numbers))


def test_on_the_command_line(capsys: pytest.CaptureFixture[str], refuses: Callable[..., None]) -> None:
    assert main(["export", "ppo", "--no-gae"]) == 0
    assert capsys.readouterr().out == code(switched([name for name in PPO.on if name != "gae"]))
    refuses(main, ["export", "pop"], "'pop'")
    refuses(main, ["export", "reinforce", "--gae"], "baseline")


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        ("--steps 600 --seeds 2 --lanes 2", 0, "steps: return"),
        ("--lanes 0", 2, "--lanes must be at least 1, not 0"),
        ("--lr -1", 2, "--lr must be at least 0, not -1.0"),
        ("--gamma nan", 2, "--gamma must be at least 0, not nan"),
        ("--nonsense 3", 2, "--nonsense"),
        ("--env Nonsense-v0", 2, "Nonsense"),
        ("--env Blackjack-v1", 2, "must have observations that are vectors"),
        ("--env nonsense:Cart-v0", 2, "No module named 'nonsense'"),
    ],
)
def test_an_export_is_a_program(options: str, status: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "ppo.py").write_text(code(PPO))
    command = [sys.executable, "ppo.py", *options.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == status
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert status or "seed 1" in done.stdout
