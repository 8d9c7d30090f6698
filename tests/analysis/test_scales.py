"""Scales: the random policy's return is measured, and the best possible return is computed where it can be."""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from ablations.analysis.scales import SCALES, threshold
from ablations.findings.claims import PUBLISHED
from ablations.question.designs import SUITES
from tricks import Config
from tricks.envs.make import make_env
from tricks.worlds import board, bricks, squadron, treasure

FEWER = {"Hopper-v5": 100, "Walker2d-v5": 100, "HalfCheetah-v5": 20}  # whose physics take their time


@pytest.mark.parametrize("id", [id for id in SCALES if id != "LunarLander-v3"])  # which would take half a minute
def test_a_random_policy_gets_what_the_scale_says(id: str) -> None:
    """By undiscounted returns of uniform actions, one episode per lane."""
    if id.startswith("MiniGrid") or id in FEWER:
        pytest.importorskip("envpool")
    named = ("classic", "beyond", "pixels")
    known = {s.config for name in named for s in SUITES[name].settings if s.config.env == id}
    (config,) = known or {Config(id, "envpool")}
    episodes = FEWER.get(id, 1000)
    env = make_env(replace(config, seeds=1, lanes=episodes))
    generator, alive = torch.Generator().manual_seed(0), torch.ones(1, episodes, dtype=torch.bool)
    returns = torch.zeros(1, episodes, dtype=torch.float64)
    while alive.any():
        if not isinstance(box := env.spaces.action, gym.spaces.Box):
            action = torch.randint(env.spaces.actions, (1, episodes), generator=generator)
        else:
            low, high = torch.tensor(box.low), torch.tensor(box.high)
            action = low + (high - low) * torch.rand(1, episodes, env.spaces.actions, generator=generator)
        step = env.step(action, torch.ones(1, dtype=torch.bool))
        returns += step.reward * alive
        alive &= ~step.over
    error = returns.std() / episodes**0.5
    assert abs(returns.mean() - SCALES[id].random) < 4 * error


def test_ceilings_are_the_best_returns_the_published_or_what_is_said_and_thresholds_gymnasium_s() -> None:
    world: Any = gym.make("Taxi-v4").unwrapped
    moves = torch.tensor([[world.P[s][a][0][1:] for a in range(6)] for s in range(500)], dtype=torch.float64)
    after, reward, done = moves[..., 0].long(), moves[..., 1], moves[..., 2]
    best = torch.zeros(500, dtype=torch.float64)
    for _ in range(50):  # more than any shortest way
        best = (reward + (1 - done) * best[after]).amax(1)
    starts = torch.from_numpy(world.initial_state_distrib)
    assert float((best * starts).sum()) == pytest.approx(SCALES["Taxi-v4"].ceiling)
    for setting in SUITES["classic"].settings:
        scale = SCALES[setting.config.env]
        assert scale.threshold is not None and scale.random < scale.threshold < scale.ceiling
        official = gym.spec(setting.config.env).reward_threshold
        assert official in (None, scale.threshold) or official > scale.ceiling  # Taxi's 8 is out of reach
    for id in FEWER:
        ceiling = SCALES[id].ceiling
        assert ceiling - 500 < PUBLISHED[id, 1_000_000].score <= ceiling  # rounded up
        assert ceiling % 500 == 0 and (gym.spec(id).reward_threshold or np.inf) > ceiling
    assert threshold("tricks/Corridor-v0") is threshold("Elsewhere-v0") is None
    assert threshold("MountainCar-v0") == -110  # Gymnasium's own
    faster = [treasure.pace(torch.tensor(float(time))) / 10 for time in range(treasure.LIMIT)]
    arriving = float(sum(faster)) * treasure.ARRIVAL * treasure.GOLD
    assert SCALES["tricks/Treasure-v0"].ceiling == pytest.approx(arriving, rel=1e-5)
    assert SCALES["tricks/Bricks-v0"].ceiling == 2 * bricks.BRICKS_OF_A_WALL
    assert SCALES["tricks/BricksByRow-v0"].ceiling == 2 * board.SIDE * (100 + 10 + 1)
    assert SCALES["tricks/Squadron-v0"].ceiling == 3 * squadron.ROWS * squadron.COLUMNS
