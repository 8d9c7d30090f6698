"""Policies: what they sample, and their log-probabilities and entropies."""

import numpy as np
import torch

from tricks import Config
from tricks.core.agent import Agent
from tricks.core.policies import Categorical, DiagonalGaussian
from tricks.core.rollout import Player
from tricks.envs.make import make_env
from tricks.segments import play_segment


def test_gumbel_noise_samples_the_softmax() -> None:
    logits = torch.tensor([0.0, 1.0, 2.0])
    noise = torch.from_numpy(Categorical.noise(np.random.default_rng(0), (40_000, 3)))
    counts = Categorical.sample(logits, noise).bincount(minlength=3) / 40_000
    torch.testing.assert_close(counts, logits.softmax(-1), atol=0.01, rtol=0)


def test_policies_agree_with_torch_distributions() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, action = torch.randn(5, 4, generator=generator), torch.tensor([0, 3, 1, 2, 2])
    theirs = torch.distributions.Categorical(logits=logits)
    torch.testing.assert_close(Categorical.log_prob(logits, action), theirs.log_prob(action))
    torch.testing.assert_close(Categorical.entropy(logits), theirs.entropy())
    box = torch.randn(5, 2, generator=generator)
    mean, log_std = logits.chunk(2, -1)
    normal = torch.distributions.Independent(torch.distributions.Normal(mean, log_std.exp()), 1)
    torch.testing.assert_close(DiagonalGaussian.log_prob(logits, box), normal.log_prob(box))
    torch.testing.assert_close(DiagonalGaussian.entropy(logits), normal.entropy())


def test_box_actions_are_clipped_for_the_world_but_not_for_the_log_probability() -> None:
    env = make_env(Config(env="Pendulum-v1", seeds=1, lanes=2))
    far = torch.tensor([[[7.0], [-9.0]]])
    assert env.spaces.decode(far).flatten().tolist() == [2, -2]
    player = Player(env, block=4)
    rollout = play_segment(player, lambda obs, legal: torch.tensor([[[50.0, 0.0]] * 2]), 4, torch.ones(1) > 0)
    assert rollout.action.min() > 40


def test_a_gaussian_starts_with_the_deviation_that_it_is_told_seed_by_seed() -> None:
    config = Config(env="Pendulum-v1", seeds=2, lanes=1, log_std_init=(-0.5, 0.0))
    agent = Agent(make_env(config).spaces, config)
    log_std = agent.policy(torch.zeros(2, 3, 3)).chunk(2, -1)[1]
    torch.testing.assert_close(log_std, torch.tensor([-0.5, 0.0]).view(2, 1, 1).expand(2, 3, 1))
