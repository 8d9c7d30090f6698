"""The laws that hold for every trick alone and for every preset."""

from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import tricks.loop as loop
from tricks import EVERY, PPO, REINFORCE, Config, InputError, Run, Tricks, train
from tricks.baseline import squared_error
from tricks.config import Number
from tricks.core.env import Step
from tricks.core.rollout import Player, Rollout, play_episodes
from tricks.envs.gymnasium import GymnasiumEnv
from tricks.envs.make import make_env
from tricks.ladder import NEEDS, switched

SMALL = Config(env="ShortCartPole-v0", seeds=(3,), steps=400, lanes=4, horizon=16, lr=0.003)


def curve_of(run: Run, seed: int) -> pd.DataFrame:
    return run.curve[run.curve.seed == seed].reset_index(drop=True)


def test_a_seed_in_a_stack_equals_the_seed_alone(setting: Tricks) -> None:
    lone, stacked = train(SMALL, setting), train(replace(SMALL, seeds=(8, 3, 5)), setting)
    # rounding depends on the shape of the stack, and may flip an action later: exact steps, close diagnostics
    pd.testing.assert_frame_equal(curve_of(lone, 3), curve_of(stacked, 3), rtol=2e-3, atol=1e-5)
    for a, b in zip(lone.agent.parameters(), stacked.agent[1].parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_the_first_ratio_is_one(setting: Tricks) -> None:
    tricks = switched(sorted({*setting.on, "reuse"}))
    curve = train(replace(SMALL, seeds=2, epochs=1, value_epochs=1, minibatches=1, policy_rollouts=1), tricks).curve
    np.testing.assert_allclose(curve["max_ratio"], 1, atol=1e-5)
    np.testing.assert_allclose(curve["approx_kl"], 0, atol=1e-6)


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


def test_everything_off_equals_reinforce_written_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[Rollout] = []

    def recording(*arguments: Any) -> Rollout:
        played.append(play_episodes(*arguments))
        return played[-1]

    monkeypatch.setattr(loop, "play_episodes", recording)
    config = replace(SMALL, steps=150)
    trained = train(config, REINFORCE)
    assert len(played) >= 2

    linears = _linears(train(replace(config, steps=1, lr=1e-30), REINFORCE))
    net = torch.nn.Sequential(*[layer for linear in linears for layer in (linear, torch.nn.Tanh())][:-1])
    gamma, eps = config.each("gamma")[0], config.each("adam_eps")[0]
    adam = torch.optim.Adam(net.parameters(), config.rates[0], eps=eps)
    for rollout in played[: trained.curve["update"].max() + 1]:
        terms = []
        for lane in range(config.lanes):
            following = 0.0
            for t in reversed(range(rollout.reward.shape[1])):
                if not rollout.valid[0, t, lane]:
                    continue
                ended = rollout.terminated[0, t, lane] or rollout.truncated[0, t, lane]
                following = float(rollout.reward[0, t, lane]) + (0.0 if ended else gamma * following)
                log_pi = net(rollout.obs[0, t, lane]).log_softmax(-1)[rollout.action[0, t, lane]]
                terms.append(-log_pi * following)
        adam.zero_grad()
        torch.stack(terms).mean().backward()
        adam.step()
    for mine, (weight, bias) in zip(linears, trained.agent.policy_net.layers, strict=True):
        torch.testing.assert_close(mine.weight.T, weight[0], rtol=0, atol=1e-6)
        torch.testing.assert_close(mine.bias, bias[0, 0], rtol=0, atol=1e-6)


def _linears(untrained: Run) -> list[torch.nn.Linear]:
    linears = []
    for weight, bias in untrained.agent.policy_net.layers:
        linear = torch.nn.Linear(weight.shape[1], weight.shape[2])
        linear.weight.data, linear.bias.data = weight.detach()[0].T.clone(), bias.detach()[0, 0].clone()
        linears.append(linear)
    return linears


def test_a_gradient_that_is_not_finite_stops_its_seed_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(SMALL, seeds=3)
    clean = train(config, PPO)

    def spoiled(value: Tensor, target: Tensor) -> Tensor:
        return squared_error(value, target) * torch.tensor([[1.0], [torch.inf], [1.0]])

    monkeypatch.setattr(loop, "squared_error", spoiled)
    run = train(config, switched([name for name in PPO.on if name != "value_clip"]))
    assert run.diverged == {1: int(curve_of(run, 1).step.iloc[-1])}
    assert len(curve_of(run, 1)) == 1
    assert len(curve_of(run, 0)) == len(curve_of(clean, 0))
    assert all(p.isfinite().all() for p in run.agent.parameters())


def test_truncation_bootstraps_from_the_true_last_observation() -> None:
    config = replace(SMALL, lanes=1)
    env = make_env(config)
    player = Player(env, block=16)
    everyone = torch.ones(1, 1, dtype=torch.bool)
    always_balance = lambda obs, legal: 50 * (obs[..., 2:3] + obs[..., 3:4]) * torch.tensor([-1.0, 1.0])  # noqa: E731
    for _ in range(16):
        player.step(always_balance, everyone)
    rollout = player.rollout()
    assert rollout.truncated[0, :, 0].nonzero().flatten().tolist() == [14]
    assert not rollout.terminated.any()
    assert rollout.valid[0, :, 0].tolist() == [True] * 15 + [False]
    last, reset = rollout.obs[0, 15, 0], rollout.obs[0, 16, 0]
    # one Euler step of CartPole: the last observation follows from the one before, the reset one does not
    before = rollout.obs[0, 14, 0]
    torch.testing.assert_close(last[0], before[0] + 0.02 * before[1])
    assert not torch.isclose(reset[0], last[0] + 0.02 * last[1])
    assert reset.abs().max() <= 0.05


NUMBERS = [f.name for f in fields(Config) if f.type == Number]
EVERYTHING = switched([name for name in NEEDS if name not in ("shared_trunk", "ppg_buffers")])  # which exclude others
OTHER = {"adam_eps": 0.1, "obs_decay": 0.5, "log_std_init": -1.0, "dual_clip_limit": 1.001}  # else half the default


@cache
def trained(config: Config, tricks: Tricks) -> Run:
    """One run for all the tests that compare with it."""
    return train(config, tricks)


@pytest.mark.parametrize("name", NUMBERS)
def test_each_seed_may_have_its_own_number(name: str) -> None:
    config, tricks = replace(SMALL, seeds=(3, 4), aux_every=2), EVERYTHING
    if name == "log_std_init":  # Box actions, which have no masks
        config, tricks = replace(config, env="Pendulum-v1", horizon=100), replace(EVERYTHING, action_mask=False)
    usual = getattr(config, name)
    other = OTHER.get(name, usual / 2)
    both = train(replace(config, **{name: (usual, other)}), tricks)  # type: ignore[arg-type]
    same = trained(config, tricks)
    for k, seed in enumerate(config.seed_list):
        alone = train(both.config.only(k), tricks)
        pd.testing.assert_frame_equal(curve_of(both, seed), alone.curve, rtol=2e-3, atol=1e-5)
    pd.testing.assert_frame_equal(curve_of(both, 3), curve_of(same, 3))
    assert not np.allclose(curve_of(both, 4), curve_of(same, 4), equal_nan=True)  # the number matters here
    with pytest.raises(InputError, match=f"{name} must be one number or one for each of 2 seeds"):
        replace(config, **{name: (usual,) * 3})  # type: ignore[arg-type]
