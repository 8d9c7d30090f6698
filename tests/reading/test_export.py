"""An export is the one agent with its flags decided: a program that needs nothing of this package."""

import ast
import random
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.commands import ruff
from support.fixtures import Capture, Refuses, Told, refusal

from tricks import ATARI, ATARI_CONFIG, EVERY, PPO, REINFORCE, Config, InputError, Tricks, export, one_agent, patched
from tricks.cli.main import main
from tricks.config import CONTINUOUS_CONFIG
from tricks.ladder import closed, named, switched
from tricks.one_run import FLAGS

code = cache(export)


def drawn(number: int) -> Tricks:
    rng = random.Random(number)
    return switched(closed(name for name in FLAGS if rng.random() < 0.3))


SETS = [REINFORCE, PPO, EVERY, *map(drawn, range(12))]
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


IMAGES = (ATARI, ATARI_CONFIG), (PPO, Config("ChannelsLast-v0")), (REINFORCE, ATARI_CONFIG)


@pytest.mark.parametrize("asked", [*((tricks,) for tricks in SETS), *IMAGES])
def test_an_export_is_clean_and_needs_torch_numpy_and_gymnasium_only(asked: tuple[Any, ...], tmp_path: Path) -> None:
    text = code(*asked)
    (tmp_path / "exported.py").write_text(text)
    assert ruff("format", "--diff", str(tmp_path)) == ""
    assert "All checks passed" in ruff("check", "--select=E,F,I,UP,SIM", str(tmp_path))
    nodes = list(ast.walk(ast.parse(text)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in names} <= {"torch", "numpy", "gymnasium", *sys.stdlib_module_names}
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    used |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    kept = {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    numbers = {x.target.id for x in nodes if isinstance(x, ast.AnnAssign) and isinstance(x.target, ast.Name)}
    assert {name for name in defined | kept | numbers if not name.startswith("__")} <= used | {"data", "forward"}
    assert "tricks" not in re.sub('""".*?"""', "", text, flags=re.DOTALL)


def test_it_is_short() -> None:
    assert len(code(REINFORCE).splitlines()) <= 185
    assert len(code(PPO).splitlines()) <= 220
    assert len(code(ATARI, ATARI_CONFIG).splitlines()) <= 280


def test_numbers_become_defaults() -> None:
    text = export(PPO, Config("Hopper-v5", seeds=3, hidden=(32, 32), lr=3e-4, value_epochs=10))
    for line in ('env: str = "Hopper-v5"', "hidden: int = 32", "lr: float = 0.0003", '"--seeds", type=int, default=3'):
        assert line in text
    assert "horizon: int = 2_048" in export(PPO, CONTINUOUS_CONFIG)


def test_the_value_range_follows_the_ratio_s_only_if_that_is_asked_for() -> None:
    annealed = named("clip_anneal")
    assert "value_clip_range" in export(annealed)
    assert "value_clip_range" not in export(annealed, Config(value_clip_anneals=True))


@pytest.mark.parametrize(
    ("rung", "numbers", "said"),
    [
        ("ppg", {}, "no ppg: leave it off; python -m tricks listing"),
        ("state_norm", {"env": "ALE/Pong-v5"}, "an export for images has no state_norm"),
        ("ppo", {"reward_sign": True}, "no --reward-sign"),
        ("ppo", {"env": "SmallPictures-v0", "life_ends": True}, "no --life-ends"),
        ("atari", {"value_clip_anneals": True, "clip_range": 0.1}, "one clip range for both"),
        ("ppo", {"device": "cuda"}, "no --device"),
        ("ppo", {"env_args": {"gravity": -5}}, "no --env-args"),
        ("state_norm", {"obs_decay": 0.1}, "no --obs-decay"),
        ("ppo", {"hidden": (64,)}, "two hidden layers"),
        ("ppo", {"seeds": 2, "lr": (0.1, 0.2)}, "one --lr for all seeds"),
    ],
)
def test_what_an_export_cannot_have_is_refused(rung: str, numbers: dict[str, Any], said: str) -> None:
    refusal(re.escape(said), export, named(rung), Config(**numbers))


def test_what_stands_in_for_a_function_is_not_left_out_in_silence() -> None:
    with patched(clipped_surrogate=print), pytest.raises(InputError, match="has this package's clipped_surrogate"):
        export(PPO)
    assert export(PPO)


def test_of_an_environment_that_is_not_here_it_is_said_that_its_observations_count_as_vectors(capsys: Capture) -> None:
    assert export(PPO, Config("Elsewhere-v0")) == export(PPO).replace("CartPole-v1", "Elsewhere-v0")
    assert capsys.readouterr().err.startswith("Elsewhere-v0 cannot be made here, so the file takes its observations")


def test_on_the_command_line(told: Told, refuses: Refuses) -> None:
    assert told("export ppo --no-gae") == code(switched([name for name in PPO.on if name != "gae"]))
    refuses(main, ["export", "pop"], "'pop'")
    refuses(main, ["export", "reinforce", "--gae"], "baseline")


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        ("ppo.py --steps 600 --seeds 2 --lanes 2", 0, "steps: return"),
        ("ppo.py --lanes 0", 2, "--lanes must be at least 1, not 0"),
        ("ppo.py --nonsense 3", 2, "--nonsense"),
        ("ppo.py --env Nonsense-v0", 2, "Nonsense"),
        ("atari.py --steps 32 --seeds 2 --lanes 2 --horizon 16", 0, "steps: return"),
        ("atari.py --env CartPole-v1", 2, "no images of bytes"),
        ("ppo.py --env Blackjack-v1", 2, "must have observations that are vectors"),
    ],
)
def test_an_export_is_a_program(options: str, status: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "ppo.py").write_text(code(PPO))
    (tmp_path / "atari.py").write_text(code(ATARI, ATARI_CONFIG))
    command = [sys.executable, *options.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == status
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert status or "seed 1" in done.stdout
