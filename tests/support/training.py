"""Small trainings, what interrupts them, what they do on their way, and when two are the same."""

import itertools
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import gymnasium as gym
import pandas as pd
import pytest
import torch
from support.fixtures import Patch

from tricks import EVERY, Checkpoints, Config, Run, Tricks, train
from tricks.runs import checkpoint, files
from tricks.runs.about import sealed, tensor_bytes, write_about

SMALL = Config(seeds=(3, 1), steps=900, lanes=2, horizon=50, hidden=(8,), epochs=2, minibatches=2)


def writers(monkeypatch: Patch) -> list[Mock]:
    """What writes for TensorBoard from now on, one for each seed of each training."""
    made: list[Mock] = []

    def make(folder: str, purge_step: int) -> Mock:
        Path(folder).mkdir(parents=True, exist_ok=True)
        made.append(Mock(folder=Path(folder), purge_step=purge_step))
        return made[-1]

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=make))
    return made


def scalars(writer: Mock) -> list[tuple[str, float, int]]:
    """The name, the number, and the step of all that it was told."""
    return [call.args for call in writer.add_scalar.call_args_list]


class Power(BaseException):
    """It went off."""


def interrupted(folder: Path, config: Config, tricks: Tricks, after: int, monkeypatch: Patch, **asked: Any) -> None:
    """Train, with a checkpoint every 200 steps, until `after` of them are written."""
    count = itertools.count(1)

    def write(path: Path, content: bytes) -> None:
        files.write_whole(path, content)
        if next(count) == after:
            raise Power

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "write_whole", write)
        with pytest.raises(Power):
            train(config, tricks, checkpoints=Checkpoints(folder, 200), **asked)


def same(one: Run, other: Run) -> None:
    pd.testing.assert_frame_equal(one.curve, other.curve, check_exact=True)
    mine, theirs = one.agent.state_dict(), other.agent.state_dict()
    assert mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert (one.config, one.tricks, one.diverged) == (other.config, other.tricks, other.diverged)


def cart() -> gym.Env:
    return gym.make("CartPole-v1")


UNMASKED = replace(EVERY, action_mask=False)  # for environments in which everything is legal
WHOLE_EPISODES = replace(UNMASKED, segments=False)


def fail() -> None:
    raise Power


def rewrite(folder: str | Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the run.json in a folder, with the right checksum."""
    path = Path(folder, "run.json")
    about = json.loads(path.read_text())
    change(about)
    del about["checksum"]
    path.write_bytes(write_about(about))


def reseal(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    """Change what a checkpoint says about its run, and its content, with the right checksum."""
    found = torch.load(path, weights_only=True)
    about = json.loads(found["about"])
    change(about, found)
    path.write_bytes(sealed(tensor_bytes(found | {"about": json.dumps(about)})))


def spied(patch: Patch, owner: Any, name: str, note: Callable[..., Any]) -> list[Any]:
    """From now on, what `note` makes of the arguments of each call of this function, before the call."""
    notes, function = list[Any](), getattr(owner, name)

    def call(*given: Any, **named: Any) -> Any:
        notes.append(note(*given, **named))
        return function(*given, **named)

    patch.setattr(owner, name, call)
    return notes
