"""A tensor world equals Gymnasium's own environment, step for step."""

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch

from tricks import PPO, Config, InputError, train
from tricks.core.envs import GymnasiumEnv, make_env
from tricks.core.rollout import Player
from tricks.segments import play_segment
from tricks.worlds import WORLDS, TensorEnv


@pytest.mark.parametrize("id", WORLDS)
def test_every_step_equals_gymnasium_from_random_states(id: str) -> None:
    world, theirs = WORLDS[id], gym.make(id).unwrapped
    rng, lanes = np.random.default_rng(0), 3000
    theirs.reset(seed=0)
    state = rng.uniform(-1, 1, size=(lanes, 4)) * (3.0, 3.0, 0.25, 3.0)  # also beyond the limits
    action = rng.integers(2, size=lanes)
    before = torch.tensor(state, dtype=torch.float32)[None]
    after, reward, terminated = world.dynamics(before, torch.tensor(action)[None], torch.empty(1, lanes, 0))
    obs = world.observe(after)[0].numpy()
    ends = 0
    for i in range(lanes):
        theirs.state, theirs.steps_beyond_terminated = tuple(state[i]), None  # type: ignore[attr-defined]
        their_obs, their_reward, their_end, _, _ = theirs.step(int(action[i]))
        np.testing.assert_allclose(obs[i], their_obs, rtol=1e-5, atol=1e-6)
        assert (float(reward[0, i]), bool(terminated[0, i])) == (their_reward, their_end)
        ends += their_end
    assert 300 < ends < 2700


@pytest.mark.parametrize("id", WORLDS)
def test_resets_are_distributed_as_gymnasium_resets(id: str) -> None:
    theirs = gym.make(id)
    rows = np.stack([theirs.reset(seed=seed)[0] for seed in range(2000)])
    env = TensorEnv(WORLDS[id], Config(env=id, seeds=1, lanes=2000))
    mine = env.obs[0].numpy()
    for quantile in (0.0, 0.25, 0.5, 0.75, 1.0):
        np.testing.assert_allclose(np.quantile(mine, quantile, axis=0), np.quantile(rows, quantile, axis=0), atol=0.006)


def test_time_limits_resets_and_the_row_between_follow_gymnasium() -> None:
    config = Config(seeds=2, lanes=3)

    def balance(obs: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:  # a controller that never falls
        push = 3 * obs[..., 2:3] + obs[..., 3:4] + 0.1 * obs[..., 0:1] + 0.3 * obs[..., 1:2]
        return 1e4 * push * torch.tensor([-1.0, 1.0])

    for env in (TensorEnv(WORLDS["CartPole-v1"], config), GymnasiumEnv(config)):
        rollout = play_segment(Player(env, 64), balance, 1003, torch.ones(2) > 0)
        assert not rollout.terminated.any()
        for rows, where in ((rollout.truncated, [499, 1000]), (~rollout.valid, [500, 1001])):
            expected = torch.isin(torch.arange(1003), torch.tensor(where))
            assert torch.equal(rows, expected.view(1, -1, 1).expand(2, -1, 3))
        assert (rollout.obs[:, 501].abs() <= 0.05).all()
        assert rollout.reward.sum() == rollout.valid.sum()
        assert len(rollout.obs[:, 501].unique()) == 24  # each lane of each seed starts from its own noise


def test_a_seed_alone_equals_the_seed_in_a_stack_on_tensors() -> None:
    for flags in (PPO, type(PPO)()):
        config = Config(seeds=(3,), steps=1500, lanes=4, horizon=64)
        lone = train(config, flags).curve
        stacked = train(Config(seeds=(8, 3), steps=1500, lanes=4, horizon=64), flags).curve
        stacked = stacked[stacked.seed == 3].reset_index(drop=True)
        pd.testing.assert_frame_equal(lone, stacked, rtol=2e-3, atol=1e-4)


def test_backends_are_chosen_by_name() -> None:
    assert isinstance(make_env(Config(seeds=1)), TensorEnv)
    assert isinstance(make_env(Config(seeds=1, backend="gymnasium")), GymnasiumEnv)
    assert isinstance(make_env(Config(env="Acrobot-v1", seeds=1)), GymnasiumEnv)
    with pytest.raises(InputError, match="backend tensor has no 'Taxi-v4'; it has CartPole-v1"):
        make_env(Config(env="Taxi-v4", backend="tensor"))
    with pytest.raises(InputError, match="unknown backend 'cuda'"):
        Config(backend="cuda")
