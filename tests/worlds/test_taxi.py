"""The tensor Taxi-v4 equals Gymnasium's table, all 500 states and six actions of it."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from tricks import Config
from tricks.envs.gymnasium import GymnasiumEnv
from tricks.envs.make import make_env
from tricks.envs.tensor import TensorEnv
from tricks.worlds.taxi import TAXI

STATES = torch.arange(500.0).view(500, 1, 1)  # [S, N, 1]: every state is a lane
ACTIONS = torch.arange(6).expand(500, 6)
NOTHING = torch.empty(500, 6, 0)


@pytest.fixture(scope="module")
def theirs() -> Any:
    return gym.make(TAXI.id).unwrapped


def test_every_action_in_every_state_equals_gymnasiums_table(theirs: Any) -> None:
    after, reward, terminated = TAXI.dynamics(STATES.expand(-1, 6, -1), ACTIONS, NOTHING)
    table = [[theirs.P[state][action] for action in range(6)] for state in range(500)]
    assert all(len(outcomes) == 1 for row in table for outcomes in row)  # nothing is left to chance
    columns = (np.array([[outcomes[0][i] for outcomes in row] for row in table]) for i in (1, 2, 3))
    for mine, expected in zip((after[..., 0], reward, terminated), columns, strict=True):
        np.testing.assert_array_equal(mine, expected)
    assert (after.dtype, reward.dtype, terminated.dtype) == (torch.float32, torch.float64, torch.bool)


def test_every_mask_equals_gymnasiums(theirs: Any) -> None:
    mask = TAXI.legal(STATES)
    assert mask is not None
    assert mask.dtype == torch.bool
    np.testing.assert_array_equal(mask[:, 0], [theirs.action_mask(state) for state in range(500)])


def test_every_observation_is_what_gymnasiums_number_is_encoded_as() -> None:
    spaces = make_env(Config(env=TAXI.id, seeds=1, lanes=1, backend="gymnasium")).spaces
    expected = spaces.encode(np.arange(500), (500, 1))
    torch.testing.assert_close(TAXI.observe(STATES), expected, rtol=0, atol=0)


def test_spaces_and_time_limit_are_gymnasiums(theirs: Any) -> None:
    assert (TAXI.observation, TAXI.action) == (theirs.observation_space, theirs.action_space)
    assert TAXI.time_limit == gym.spec(TAXI.id).max_episode_steps == 200


def test_each_start_has_gymnasiums_share_of_all_chances(theirs: Any) -> None:
    chance = (torch.arange(300 * 64) + 0.5) / (300 * 64)  # as many of every size
    share = TAXI.initial(chance.unsqueeze(-1))[:, 0].long().bincount(minlength=500) / len(chance)
    np.testing.assert_allclose(share, theirs.initial_state_distrib, rtol=1e-6)
    assert (share > 0).sum() == 300
    extremes = TAXI.initial(torch.tensor([[0.0], [1 - 2**-24]]))[:, 0]  # the largest float32 that is drawn
    assert extremes.tolist() == theirs.initial_state_distrib.nonzero()[0][[0, -1]].tolist()


def test_resets_start_anywhere_evenly() -> None:
    env, rows = TensorEnv(TAXI, Config(env=TAXI.id, seeds=2, lanes=6000)), 2 * 6000
    for _ in range(2):  # the first episode, and one after it
        count = env.now.obs.sum((0, 1))
        count = count[count > 0]
        assert len(count) == 300
        expected = rows / 300
        assert ((count - expected).square() / expected).sum() < 400  # χ² of 299 degrees: above once in 10 000
        env.reset()


def test_a_fare_is_paid_once_and_ends_the_episode() -> None:
    """From the stand in the north-west to that in the south-west, four places straight on."""
    env = TensorEnv(TAXI, Config(env=TAXI.id, seeds=1, lanes=1))
    env._state = torch.tensor([[[2.0]]])  # the taxi and the passenger at stand 0, who wants to stand 2
    south, pick_up, drop_off = 0, 4, 5
    actions = [drop_off, pick_up, drop_off, pick_up, *[south] * 4, drop_off, south]
    steps = [env.step(torch.tensor([[a]]), torch.ones(1) > 0) for a in actions]
    ended = [(step.reward.item(), step.terminated.item(), step.truncated.item()) for step in steps]
    rewards, terminated, truncated = zip(*ended, strict=True)
    assert rewards[:-1] == (-10, -1, -1, -1, -1, -1, -1, -1, 20)  # the last row is the reset's
    assert terminated == (*[False] * 8, True, False)
    assert not any(truncated)
    assert not env.now.resetting.any()


def test_both_backends_play_alike(theirs: Any) -> None:
    """Rewards, ends, masks and observations of Gymnasium's own lanes, row by row, time limits and resets included."""
    config = Config(env=TAXI.id, seeds=2, lanes=4)
    mine, gymnasiums, play = TensorEnv(TAXI, config), GymnasiumEnv(config), torch.ones(2) > 0
    rng, ends = np.random.default_rng(0), torch.zeros(2)
    for row in range(410):
        mine._state = gymnasiums.now.obs.argmax(-1, keepdim=True).float()
        obs, legal = mine._shown()
        assert torch.equal(obs, gymnasiums.now.obs)
        assert torch.equal(legal, gymnasiums.now.legal)
        action = torch.from_numpy(rng.integers(6, size=(2, 4)))
        going = ~mine.now.resetting
        ours, gymnasium = mine.step(action, play), gymnasiums.step(action, play)
        assert torch.equal(ours.reward[going], gymnasium.reward[going]), row
        assert torch.equal(ours.terminated, gymnasium.terminated), row
        assert torch.equal(ours.truncated, gymnasium.truncated), row
        ends += torch.stack([ours.terminated.sum(), ours.truncated.sum()])
    assert ends[1] >= 8
