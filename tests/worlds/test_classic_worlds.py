"""A tensor world equals Gymnasium's own environment, step for step."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import SyncVectorEnv
from torch import Tensor

from tricks import Config, InputError
from tricks.envs.gymnasium import GymnasiumEnv
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.worlds import CLASSIC
from tricks.worlds.taxi import TAXI


@dataclass(frozen=True)
class Case:
    """Where to look at a world: the limits of its states, how far a state is from the brink of an episode's end,
    and a policy that is good at it."""

    limits: tuple[float, ...]
    margin: Callable[[np.ndarray], np.ndarray]
    skilled: Callable[[Tensor], Tensor]


CASES = {
    "CartPole-v1": Case(
        limits=(2.4, 2, math.radians(12), 2),
        margin=lambda s: np.minimum(abs(abs(s[:, 0]) - 2.4), abs(abs(s[:, 2]) - math.radians(12))),
        skilled=lambda o: (o @ torch.tensor([0.1, 0.3, 3.0, 1.0]) > 0).long(),  # never falls
    ),
    "Acrobot-v1": Case(
        limits=(math.pi, math.pi, 4 * math.pi, 9 * math.pi),
        margin=lambda s: abs(np.cos(s[:, 0]) + np.cos(s[:, 0] + s[:, 1]) + 1),
        skilled=lambda o: 1 + o[..., 5].sign().long(),  # pumps
    ),
    "MountainCar-v0": Case(
        limits=(1.2, 0.07),
        margin=lambda s: np.maximum(0.5 - s[:, 0], np.minimum(abs(s[:, 0] - 0.5), abs(s[:, 1]))),
        skilled=lambda o: 1 + o[..., 1].sign().long(),  # swings
    ),
    "Pendulum-v1": Case(
        limits=(16 * math.pi, 8),
        margin=lambda s: np.full(len(s), np.inf),
        skilled=lambda o: 2 * o[..., 2:].sign(),  # swings
    ),
}
SINGLE, DOUBLE = 1e-5, 1e-7  # tolerances, relative and absolute, of float32 and float64
classic = pytest.mark.parametrize("id", CASES)  # Taxi-v4 has a table, and a test of its own


def random_actions(space: gym.Space, rng: np.random.Generator, *rows: int) -> Tensor:
    """Discrete ones, or Box actions that go half as far again as is allowed."""
    if isinstance(space, gym.spaces.Discrete):
        return torch.from_numpy(rng.integers(space.n, size=rows))
    assert isinstance(space, gym.spaces.Box)
    return torch.from_numpy(rng.uniform(1.5 * space.low, 1.5 * space.high, (*rows, *space.shape))).float()


def gymnasium_step(env: gym.Env, state: np.ndarray, action: np.ndarray) -> tuple[np.ndarray, float, bool, np.ndarray]:
    """Observation, reward, terminated and state after a step from `state`."""
    env.state, env.steps_beyond_terminated = state, None  # type: ignore[attr-defined]
    obs, reward, terminated, _, _ = env.step(action)
    return obs, float(reward), terminated, np.array(env.state)  # type: ignore[attr-defined]


@classic
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_every_step_equals_gymnasium_from_random_states(id: str, dtype: torch.dtype) -> None:
    world, case, theirs = CLASSIC[id], CASES[id], gym.make(id).unwrapped
    rng, lanes = np.random.default_rng(0), 4000
    theirs.reset(seed=0)
    where = rng.uniform(-1.3, 1.3, (lanes, len(case.limits)))
    where[::2] = where[::2].clip(-1, 1)  # within and exactly at the limits; the others also beyond
    before = torch.from_numpy(where * case.limits).to(dtype)
    action = random_actions(world.action, rng, lanes)
    after, reward, terminated = world.dynamics(before, action, torch.empty(lanes, 0))
    assert (after.dtype, reward.dtype, terminated.dtype) == (dtype, torch.float64, torch.bool)

    steps = [gymnasium_step(theirs, *pair) for pair in zip(before.double().numpy(), action.numpy(), strict=True)]
    their_obs, their_reward, ends, their_after = (np.stack(column) for column in zip(*steps, strict=True))
    obs, tolerance = world.observe(after).numpy(), DOUBLE if dtype == torch.float64 else SINGLE
    clear = (tolerance == DOUBLE) | (case.margin(their_after) > 1e-5)  # elsewhere rounding decides whether it ends
    assert clear.mean() > 0.999
    np.testing.assert_array_equal(terminated.numpy()[clear], ends[clear])
    np.testing.assert_allclose(reward.numpy()[clear], their_reward[clear], rtol=tolerance, atol=tolerance)
    assert id == "Pendulum-v1" or 0.05 < ends.mean() < 0.95
    # from a fast acrobot Gymnasium's own step multiplies the rounding of a state by tens of thousands
    calm = (tolerance == DOUBLE) | (id != "Acrobot-v1") | (abs(where[:, 2:]) < 0.5).all(1)
    np.testing.assert_allclose(obs[calm], their_obs[calm], rtol=tolerance, atol=tolerance)
    assert np.isclose(obs, their_obs, rtol=tolerance, atol=tolerance).mean() > 0.99
    assert after[:, 0].abs().max() < 4  # whole turns are not counted: they would cost float32 its accuracy


@classic
def test_time_limits_resets_and_the_row_between_follow_gymnasium(id: str) -> None:
    """Both play the same actions, and every step starts from Gymnasium's own state, so that no rounding grows."""
    world, limit, lanes = CLASSIC[id], CLASSIC[id].time_limit or 0, 3
    env = TensorEnv(world, Config(env=id, seeds=1, lanes=lanes))
    theirs = gym.make_vec(id, num_envs=lanes, vectorization_mode="sync")
    assert isinstance(theirs, SyncVectorEnv)
    rng, play, obs = np.random.default_rng(1), torch.ones(1) > 0, torch.from_numpy(theirs.reset(seed=1)[0])
    rows, expected, going = [], [], []
    for _ in range(2 * limit + 5):
        state = [np.asarray(lane.unwrapped.state) for lane in theirs.envs]  # type: ignore[attr-defined]
        env._state = torch.from_numpy(np.stack(state)).float()[None]
        action = random_actions(world.action, rng, lanes)
        action[:1] = CASES[id].skilled(obs[:1])  # so that some lanes die, and some meet the time limit
        going.append(~env.now.resetting[0])
        step = env.step(action[None], play)
        rows.append([column[0] for column in (step.obs, step.reward, step.terminated, step.truncated)])
        expected.append(theirs.step(action.numpy())[:4])
        obs = torch.from_numpy(expected[-1][0])
    mine, experience = [torch.stack(column).numpy() for column in zip(*rows, strict=True)], torch.stack(going).numpy()
    gymnasiums = [np.stack(column) for column in zip(*expected, strict=True)]
    for i in (0, 1):  # observation and reward
        np.testing.assert_allclose(mine[i][experience], gymnasiums[i][experience], rtol=SINGLE, atol=SINGLE)
    for i in (2, 3):  # terminated and truncated, also in the row between
        np.testing.assert_array_equal(mine[i], gymnasiums[i])
    assert mine[3].sum() > 1
    assert mine[2].sum() > 1 or id == "Pendulum-v1"


@classic
def test_resets_are_distributed_as_gymnasium_resets(id: str) -> None:
    theirs, rows = gym.make(id).unwrapped, 2000
    expected = np.stack([(theirs.reset(seed=seed), theirs.state)[1] for seed in range(rows)])  # type: ignore[attr-defined]
    mine = TensorEnv(CLASSIC[id], Config(env=id, seeds=2, lanes=rows // 2))._state.flatten(0, 1).numpy()
    assert len(np.unique(mine, axis=0)) > rows - 5  # each lane of each seed starts from its own noise
    spread = np.ptp(expected, axis=0)
    for extreme in (np.min, np.max):
        assert (abs(extreme(mine, axis=0) - extreme(expected, axis=0)) <= 0.005 * spread).all()
    for column, their_column in zip(np.sort(mine.T), np.sort(expected.T), strict=True):
        share = np.searchsorted(column, their_column) / rows  # Kolmogorov-Smirnov: above 0.051 once in 100
        assert abs(share - np.arange(rows) / rows).max() < 0.051 or not np.ptp(their_column)
    np.testing.assert_allclose(np.cov(mine.T), np.cov(expected.T), atol=0.01 * np.max(spread) ** 2)


@pytest.mark.parametrize("id", CLASSIC)
def test_spaces_and_time_limit_are_gymnasiums(id: str) -> None:
    world, theirs = CLASSIC[id], gym.make(id)
    assert world.observation.shape == theirs.observation_space.shape
    assert (type(world.observation), world.action) == (type(theirs.observation_space), theirs.action_space)
    assert world.time_limit == gym.spec(id).max_episode_steps


def test_backends_are_chosen_by_name_and_a_diverged_policy_breaks_no_world() -> None:
    world, state = CLASSIC["Pendulum-v1"], torch.full((1, 3, 2), 0.5)
    nowhere, meant = torch.tensor([[[math.nan], [math.inf], [-math.inf]]]), torch.tensor([[[0.0], [2.0], [-2.0]]])
    theirs = GymnasiumEnv(Config(env=world.id, seeds=1, lanes=3))
    np.testing.assert_array_equal(theirs.spaces.decode(nowhere), meant.numpy())
    assert torch.equal(*[world.dynamics(state, action, torch.empty(1, 3, 0))[0] for action in (nowhere, meant)])
    assert isinstance(make_env(Config(seeds=1)), TensorEnv)
    assert isinstance(make_env(Config(seeds=1, backend="gymnasium")), GymnasiumEnv)
    assert isinstance(make_env(Config(env="FrozenLake-v1", seeds=1)), GymnasiumEnv)
    with pytest.raises(InputError, match=r"tensor has no 'FrozenLake-v1'; it has CartPole-v1, .* and all tricks"):
        make_env(Config(env="FrozenLake-v1", backend="tensor"))


STATES = torch.arange(500.0).view(500, 1, 1)  # [S, N, 1]: every state is a lane
ACTIONS = torch.arange(6).expand(500, 6)
NOTHING = torch.empty(500, 6, 0)


def test_every_state_s_action_mask_and_start_are_gymnasium_s() -> None:
    theirs: Any = gym.make(TAXI.id).unwrapped
    after, reward, terminated = TAXI.dynamics(STATES.expand(-1, 6, -1), ACTIONS, NOTHING)
    table = [[theirs.P[state][action] for action in range(6)] for state in range(500)]
    assert all(len(outcomes) == 1 for row in table for outcomes in row)  # nothing is left to chance
    columns = (np.array([[outcomes[0][i] for outcomes in row] for row in table]) for i in (1, 2, 3))
    for mine, expected in zip((after[..., 0], reward, terminated), columns, strict=True):
        np.testing.assert_array_equal(mine, expected)
    assert (after.dtype, reward.dtype, terminated.dtype) == (torch.float32, torch.float64, torch.bool)
    mask = TAXI.legal(STATES)
    assert mask is not None and mask.dtype == torch.bool
    np.testing.assert_array_equal(mask[:, 0], [theirs.action_mask(state) for state in range(500)])
    spaces = make_env(Config(env=TAXI.id, seeds=1, lanes=1, backend="gymnasium")).spaces
    torch.testing.assert_close(TAXI.observe(STATES), spaces.encode(np.arange(500), (500, 1)), rtol=0, atol=0)
    chance = (torch.arange(300 * 64) + 0.5) / (300 * 64)  # as many of every size
    share = TAXI.initial(chance.unsqueeze(-1))[:, 0].long().bincount(minlength=500) / len(chance)
    np.testing.assert_allclose(share, theirs.initial_state_distrib, rtol=1e-6)
    assert (share > 0).sum() == 300
    extremes = TAXI.initial(torch.tensor([[0.0], [1 - 2**-24]]))[:, 0]  # the largest float32 that is drawn
    assert extremes.tolist() == theirs.initial_state_distrib.nonzero()[0][[0, -1]].tolist()
