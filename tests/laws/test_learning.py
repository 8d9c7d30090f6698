"""Learning itself: quick checks by default, and at full length with `pytest -m slow -rP` (about half an hour)."""

from dataclasses import replace

import pandas as pd
import pytest

from tricks import PPO, REINFORCE, Config, Tricks, train


def late(config: Config, tricks: Tricks) -> pd.Series:
    """Each seed's mean return over the last 10% of the budget, printed."""
    found = train(config, tricks).late()
    print(
        f"{config.env}, {config.steps:,} steps, lr {config.lr:g}: {found.mean():.1f}, seeds {found.round(1).tolist()}"
    )
    return found


@pytest.mark.slow
def test_reinforce_reaches_150_on_cartpole_within_100k_steps() -> None:
    curve = train(Config(seeds=4, steps=100_000, lr=0.01), REINFORCE).curve
    assert curve.groupby("seed")["return"].max().min() > 150


def test_ppo_balances_the_pole_for_200_steps_within_40k() -> None:
    found = late(Config(seeds=8, steps=40_000, lr=0.003), PPO)
    assert found.mean() > 200  # over 30 seeds, the mean is 312, and five fall short of 200


@pytest.mark.slow
def test_ppo_all_but_solves_cartpole_within_100k_steps() -> None:
    assert late(Config(seeds=4, steps=100_000, lr=0.003), PPO).mean() > 430


@pytest.mark.slow
def test_masked_taxi_is_ahead_of_unmasked_taxi() -> None:
    config = Config(env="Taxi-v4", seeds=3, steps=30_000, lr=0.003)
    masked, plain = late(config, replace(PPO, action_mask=True)), late(config, PPO)
    assert masked.min() > plain.max()


@pytest.mark.slow
def test_ppo_cartpole_500k() -> None:
    found = late(Config(seeds=8, steps=500_000), PPO)
    assert found.mean() >= 470
    assert found.min() >= 450


@pytest.mark.slow
def test_ppo_acrobot_500k() -> None:
    assert late(Config(env="Acrobot-v1", seeds=8, steps=500_000), PPO).mean() >= -95


@pytest.mark.slow
def test_ppo_taxi_200k() -> None:
    config = Config(env="Taxi-v4", seeds=8, steps=200_000, lr=0.003)
    masked, plain = late(config, replace(PPO, action_mask=True)), late(config, PPO)
    assert masked.mean() - masked.std() > plain.mean() + plain.std()


@pytest.mark.slow
def test_ppo_pendulum_500k() -> None:
    config = Config(env="Pendulum-v1", seeds=8, steps=500_000, lr=0.003, gamma=0.9, epochs=10)
    assert late(config, replace(PPO, state_norm=True, return_norm=True)).mean() > -300
