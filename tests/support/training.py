"""Small trainings, what interrupts them, and when two are the same."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from tricks import EVERY, Checkpoints, Config, Run, Tricks, train
from tricks.runs import checkpoint, files

SMALL = Config(seeds=(3, 1), steps=900, lanes=2, horizon=50, hidden=(8,), epochs=2, minibatches=2)


class Power(BaseException):
    """It went off."""


def interrupted(
    folder: Path, config: Config, tricks: Tricks, after: int, monkeypatch: pytest.MonkeyPatch, **asked: Any
) -> None:
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
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert (one.config, one.tricks, one.diverged) == (other.config, other.tricks, other.diverged)


UNMASKED = replace(EVERY, action_mask=False)  # for environments in which everything is legal
WHOLE_EPISODES = replace(UNMASKED, segments=False)


def fail() -> None:
    raise Power
