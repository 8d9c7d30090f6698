"""The laws that hold for every trick alone and for every preset."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import tricks.loop as loop
from tricks import EVERY, PPO, REINFORCE, Config, Run, Tricks, train
from tricks.baseline import squared_error
from tricks.core.env import Step
from tricks.core.rollout import Player
from tricks.envs.gymnasium import GymnasiumEnv
from tricks.envs.make import make_env
from tricks.ladder import switched

SMALL = Config(env="ShortCartPole-v0", seeds=(3,), steps=400, lanes=4, horizon=16, lr=0.003)


def curve_of(run: Run, seed: int) -> pd.DataFrame:
    return run.curve[run.curve.seed == seed].reset_index(drop=True)


def test_a_seed_in_a_stack_equals_the_seed_alone(setting: Tricks, home: str) -> None:
    small = replace(SMALL, env=home)
    lone, stacked = train(small, setting), train(replace(small, seeds=(8, 3, 5)), setting)
    pd.testing.assert_frame_equal(curve_of(lone, 3), curve_of(stacked, 3), check_exact=True)
    for a, b in zip(lone.agent.parameters(), stacked.agent[1].parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_first_ratio_is_one(setting: Tricks, home: str) -> None:
    once = replace(SMALL, env=home, seeds=2, epochs=1, value_epochs=1, minibatches=1, policy_rollouts=1)
    curve = train(once, switched(sorted({*setting.on, "reuse"}))).curve
    np.testing.assert_allclose(curve["max_ratio"], 1, atol=1e-5)
    np.testing.assert_allclose(curve["approx_kl"], 0, atol=1e-6)


def test_a_gradient_that_is_not_finite_stops_its_seed_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(SMALL, seeds=3)
    length = len(curve_of(train(config, PPO), 0))

    def spoiled(value: Tensor, target: Tensor) -> Tensor:
        return squared_error(value, target) * torch.tensor([[1.0], [torch.inf], [1.0]])

    monkeypatch.setattr(loop, "squared_error", spoiled)
    run = train(config, switched([name for name in PPO.on if name != "value_clip"]))
    assert run.diverged == {1: int(curve_of(run, 1).step.iloc[-1])}
    assert [len(curve_of(run, seed)) for seed in (0, 1)] == [length, 1]
    assert all(p.isfinite().all() for p in run.agent.parameters())


@pytest.mark.parametrize("tricks", [REINFORCE, PPO, EVERY], ids=["reinforce", "ppo", "every"])
def test_rows_that_are_no_experience_change_no_number(tricks: Tricks, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(SMALL, seeds=3)
    clean = train(config, tricks)
    player_step, env_step = Player.step, GymnasiumEnv.step
    poisoned = 0

    def step_player(self: Player, policy: object, playing: Tensor) -> None:
        self.env.playing = playing  # type: ignore[attr-defined]
        player_step(self, policy, playing)  # type: ignore[arg-type]

    def step_env(self: GymnasiumEnv, action: Tensor, playing: Tensor) -> Step:
        nonlocal poisoned
        waiting = ~self.playing  # type: ignore[attr-defined]
        ignored = waiting | self.now.resetting
        poisoned += int(ignored.sum())
        step = env_step(self, action, playing)
        self.now = step._replace(
            obs=step.obs.masked_fill(waiting.unsqueeze(-1), torch.nan),
            reward=step.reward.masked_fill(ignored, torch.nan),
            score=step.score.masked_fill(ignored, torch.nan),
            terminated=step.terminated | ignored,
            truncated=step.truncated | ignored,
        )
        return self.now

    monkeypatch.setattr(Player, "step", step_player)
    monkeypatch.setattr(GymnasiumEnv, "step", step_env)
    pd.testing.assert_frame_equal(train(config, tricks).curve, clean.curve)
    assert poisoned > 0


def test_truncation_bootstraps_from_the_true_last_observation() -> None:
    player = Player(make_env(replace(SMALL, lanes=1)), block=16)
    always_balance = lambda obs, legal: 50 * (obs[..., 2:3] + obs[..., 3:4]) * torch.tensor([-1.0, 1.0])  # noqa: E731
    for _ in range(16):
        player.step(always_balance, torch.ones(1, 1, dtype=torch.bool))
    rollout = player.rollout()
    assert rollout.truncated[0, :, 0].nonzero().flatten().tolist() == [14]
    assert not rollout.terminated.any()
    assert rollout.valid[0, :, 0].tolist() == [True] * 15 + [False]
    before, last, reset = rollout.obs[0, 14:, 0]
    # one Euler step of CartPole: the last observation follows from the one before, the reset one does not
    torch.testing.assert_close(last[0], before[0] + 0.02 * before[1])
    assert not torch.isclose(reset[0], last[0] + 0.02 * last[1])
    assert reset.abs().max() <= 0.05
