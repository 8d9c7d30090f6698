"""Another default dtype changes nothing: what is float32 says so, in both forms."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch

from tricks import CONTINUOUS, PPO, Config, Tricks, train
from tricks.fast.dispatch import plain

SMALL = Config("CartPole-v1", seeds=2, lanes=2, horizon=16, steps=128, hidden=(4,), epochs=1, minibatches=2)
BOX = replace(SMALL, env="Pendulum-v1")
CASES = {
    "discrete": (SMALL, PPO),
    "another world": (replace(SMALL, env="Acrobot-v1"), PPO),
    "rewards": (replace(SMALL, env="tricks/Shuttle4-v0"), PPO),
    "box": (BOX, CONTINUOUS),
    "squash": (BOX, replace(PPO, squash=True)),
    "recurrent": (SMALL, replace(PPO, recurrent=True)),
}


@pytest.mark.parametrize("formulas", [False, True])
@pytest.mark.parametrize(("config", "flags"), CASES.values(), ids=CASES)
def test_float64_by_default_trains_the_same_curve(config: Config, flags: Tricks, formulas: bool) -> None:
    with plain() if formulas else nullcontext():
        wanted = train(config, flags).curve
        torch.set_default_dtype(torch.float64)
        try:
            found = train(config, flags).curve
        finally:
            torch.set_default_dtype(torch.float32)
    assert found.equals(wanted)
