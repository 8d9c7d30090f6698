"""An export as a program: its options, what it prints, and what it and the command that writes it refuse."""

import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.exports import code, executed

from tricks import EVERY, PPO, Config, InputError, export
from tricks.cli.main import main
from tricks.ladder import closed, named, switched


def test_export_on_the_command_line(capsys: pytest.CaptureFixture[str], refuses: Callable[..., None]) -> None:
    assert main(["export", "ppo", "--no-gae"]) == 0
    assert capsys.readouterr().out == code(switched([name for name in PPO.on if name != "gae"]))
    refuses(main, ["export", "pop"], "'pop'")
    refuses(main, ["export", "reinforce", "--gae"], "baseline")


def test_an_export_runs_as_a_program(tmp_path: Path) -> None:
    path = tmp_path / "ppo.py"
    path.write_text(export(PPO))
    options = ["--env", "CartPole-v1", "--seeds", "2", "--steps", "3000", "--hidden", "32", "32"]
    command = [sys.executable, str(path), *options]
    out = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert all(word in out for word in ("return", "seed 0: ", "seed 1: "))


VECTORS = "this file needs Box or Discrete spaces, and no images"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--seeds 0", "--seeds must be between 1 and"),
        ("--lr -1", "--lr must be between 0 and"),
        ("--gamma nan", "--gamma must be between 0 and 1, not nan"),
        ("--hidden 8 0", "--hidden must be between 1 and"),
        ("--seeds many", "--seeds"),
        ("--nonsense 3", "--nonsense"),
        ("--env Nonsense-v0", "Nonsense"),
        ("--env nonsense:Cart-v0", "nonsense"),
        ("--env CarRacing-v3", ""),
        ("--env Blackjack-v1", "Tuple"),
        *[(f"--env {env}-v0", VECTORS) for env in ("SmallPictures", "ChannelsLast", "UnitPictures", "Choices")],
        ("--env ChannelsLast-v0", "this file needs uint8 images [C, H, W]"),
        ("--env CartPole-v1", "CartPole-v1: action_mask needs"),
        ("--env Pendulum-v1", "Pendulum-v1: action_mask needs"),
        ("--env CartPole-v1", "squash needs Box actions between two finite bounds, not Discrete(2)"),
    ],
)
def test_an_export_refuses_in_one_line(
    options: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tricks = EVERY if "mask" in said else named("squash") if "squash" in said else PPO
    module = executed(tricks, images="[C, H, W]" in said)
    monkeypatch.setattr(sys, "argv", ["ppo.py", *options.split()])
    with pytest.raises(SystemExit) as stop:
        module["main"](module["train"])
    message = capsys.readouterr().err
    assert stop.value.code == 2
    assert message.startswith("error: ") or not options.startswith("--env")
    assert message.count("\n") == 1
    assert said in message


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"device": "cuda"}, "no --device"),
        ({"backend": "envpool"}, "no --backend"),
        ({"episode_limit": 5}, "no --episode-limit"),
        ({"life_ends": True}, "no --life-ends"),
        ({"stack": 4}, "no --stack"),
        ({"env_args": {"gravity": -5}}, "no --env-args"),
        ({"seeds": (3, 4)}, "--seeds, not (3, 4)"),
        ({"seeds": 2, "lr": (0.1, 0.2)}, "one --lr for all seeds"),
    ],
)
def test_numbers_that_an_export_cannot_have_are_refused(numbers: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match="state_norm standardizes vectors"):
        export(switched(closed(["state_norm"])), images=True)
    with pytest.raises(InputError, match=re.escape(said)):
        export(PPO, Config(**numbers))


def test_a_diverged_seed_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    module = executed(PPO)
    options = ["--env", "ShortCartPole-v0", "--seeds", "1", "--steps", "400", "--lanes", "2", "--horizon", "16"]
    monkeypatch.setitem(module, "entropy_bonus", lambda entropy, valid, coef: entropy.mean(1) * math.nan)
    monkeypatch.setattr(sys, "argv", ["ppo.py", *options])
    module["main"](module["train"])
    assert re.search(r"^seed 0: diverged at step \d+$", capsys.readouterr().out, re.MULTILINE)
