"""Learning itself: of what is known, by every rung; else a quick check, or `pytest -m slow -rP` for half an hour."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from support.probes import PROBES

from tricks import PPO, REINFORCE, Config, Tricks, train
from tricks.core.moments import denormalize
from tricks.ladder import PRESETS, rungs

FULL: dict[str, tuple[Config, Tricks, float, float]] = {  # and the least that the mean and every seed must reach
    "CartPole": (Config(seeds=8, steps=500_000), PPO, 470, 450),
    "Acrobot": (Config(env="Acrobot-v1", seeds=8, steps=500_000), PPO, -95, -500),
    "Pendulum": (
        Config(env="Pendulum-v1", seeds=8, steps=500_000, lr=0.003, gamma=0.9, epochs=10),
        *(replace(PPO, state_norm=True, return_norm=True), -300, -2000),
    ),
}


def late(config: Config, tricks: Tricks) -> pd.Series:
    """Each seed's mean return over the last 10% of the budget, printed."""
    found = train(config, tricks).late()
    print(f"{config.env}, {config.steps:,} steps, lr {config.lr:g}: {found.mean():.1f}, {found.round(1).tolist()}")
    return found


def test_ppo_balances_the_pole_for_200_steps_within_40k() -> None:
    found = late(Config(seeds=8, steps=40_000, lr=0.003), PPO)
    assert found.mean() > 200  # over 30 seeds, the mean is 312, and five fall short of 200


@pytest.mark.slow
def test_reinforce_reaches_150_on_cartpole_within_100k_steps() -> None:
    curve = train(Config(seeds=4, steps=100_000, lr=0.01), REINFORCE).curve
    assert curve.groupby("seed")["return"].max().min() > 150


@pytest.mark.slow
@pytest.mark.parametrize("name", FULL)
def test_at_full_length(name: str) -> None:
    config, tricks, mean, least = FULL[name]
    found = late(config, tricks)
    assert found.mean() >= mean and found.min() >= least


@pytest.mark.slow
def test_masked_taxi_is_ahead_of_unmasked_taxi() -> None:
    for seeds, steps in ((3, 30_000), (8, 200_000)):
        config = Config(env="Taxi-v4", seeds=seeds, steps=steps, lr=0.003)
        masked, plain = late(config, replace(PPO, action_mask=True)), late(config, PPO)
        if steps == 30_000:
            assert masked.min() > plain.max()
        else:
            assert masked.mean() - masked.std() > plain.mean() + plain.std()


RUNGS = {rung.on[-1] if rung.on else "reinforce": rung for rung in rungs()} | PRESETS
QUICK = ("reinforce", "baseline", "popart", *PRESETS)  # the update of every rung is held by test_reference
EACH = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in RUNGS]


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("rung", EACH)
def test_finds_the_known_answer(rung: str, probe: str) -> None:
    tricks: Tricks = RUNGS[rung]
    world = PROBES[probe]
    config = Config(
        probe, seeds=2, steps=4_000, lanes=16, horizon=8, lr=0.03, gamma=world.gamma, hidden=(16,), minibatches=1
    )
    agent = train(config, tricks).agent
    if tricks.baseline and not tricks.reward_scaling:  # which learns values in other units
        obs, value = (torch.tensor(x, dtype=torch.float32) for x in zip(*world.answers, strict=True))
        found = denormalize(agent.value(obs.view(1, -1, 1).expand(2, -1, -1)), agent.return_stats)
        np.testing.assert_allclose(found.detach(), value.expand(2, -1), atol=0.15)
    for seen, action in world.best:
        assert agent.policy(torch.full((2, 1, 1), seen)).softmax(-1)[..., action].min() > 0.9
