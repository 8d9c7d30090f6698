"""Agents: what a copy, a loaded one, and one of a stack see; and in how many digits."""

from typing import cast

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor

from tricks import Config
from tricks.core.agent import Agent
from tricks.core.moments import Moments, ReturnStats
from tricks.core.sequences import Features
from tricks.core.spaces import Spaces
from tricks.ppg import add_auxiliary_head_, auxiliary_net
from tricks.state_norm import ObsStats, add_obs_stats_

ACTIONS = gym.spaces.Discrete(3)
VECTORS = Spaces("x", gym.spaces.Box(-1, 1, (4,)), ACTIONS, tasks=2)
IMAGES = Spaces("x", gym.spaces.Box(0, 255, (1, 8, 8), np.uint8), ACTIONS)
CONFIG, OBS = Config(seeds=2, hidden=(8,)), torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))


def looking(seasoned: bool = False) -> Agent:
    """Agents that standardize what they see, of which the second alone has seen something, or neither."""
    agent, third = Agent(VECTORS, CONFIG), torch.full((2, 4), 1 / 3, dtype=torch.float64)
    add_obs_stats_(agent)
    if seasoned:
        stats = cast(ObsStats, agent.obs_stats)
        stats.moments = Moments(torch.tensor([[0.0], [7.0]]).double(), third, 3 * third)
        agent.return_stats = ReturnStats(third[:, :2], 2 * third[:, :2])
    return agent


def statistics(agent: Agent) -> tuple[Tensor, ...]:
    return *agent.return_stats[:2], *cast(ObsStats, agent.obs_stats).moments


def test_a_loaded_agent_sees_and_values_what_the_saved_one_did() -> None:
    agent, again = looking(seasoned=True), looking()
    assert not torch.equal(again.policy(OBS), agent.policy(OBS))
    again.load_state_dict(agent.state_dict())
    assert torch.equal(again.policy(OBS), agent.policy(OBS))
    assert torch.equal(again.value(OBS), agent.value(OBS))
    assert all(torch.equal(x, y) for x, y in zip(statistics(again), statistics(agent), strict=True))


@pytest.mark.parametrize("k", [0, 1, -1, -2])
def test_one_of_a_stack_sees_with_its_own_moments(k: int) -> None:
    agent = looking(seasoned=True)
    assert agent[k].seeds == (agent.seeds[k],)
    torch.testing.assert_close(agent[k].policy(OBS[[k]]), agent.policy(OBS)[[k]])


def test_heads_on_the_policys_body_read_what_it_has_seen_without_looking_again() -> None:
    agent = looking(seasoned=True)
    kept = Features(torch.full_like(OBS, torch.nan), agent.features(OBS).hidden)
    assert torch.equal(agent.policy(kept), agent.policy(OBS))
    assert agent.value(kept).isnan().all()  # the value net has a body of its own


def test_values_and_statistics_have_the_digits_of_float64_and_images_are_seen_as_they_are() -> None:
    agent = looking()
    add_auxiliary_head_(agent)
    numbers = agent.value(OBS), agent.read(auxiliary_net(agent), OBS), *statistics(agent)
    assert {x.dtype for x in numbers} == {torch.float64}
    assert agent.policy(OBS).dtype == torch.float32
    agent, obs = Agent(IMAGES, CONFIG), torch.zeros(2, 5, 1, 8, 8, dtype=torch.uint8)
    assert agent.standardized(obs) is obs
    assert agent.policy(obs).shape == (2, 5, 3)
