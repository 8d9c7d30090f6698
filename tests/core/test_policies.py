"""Policies: what they sample, and their log-probabilities and entropies."""

import numpy as np
import torch

from tricks import Config
from tricks.core.agent import Agent
from tricks.core.policies import Categorical, DiagonalGaussian, deterministic
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
    torch.testing.assert_close(Categorical.log_prob(logits[0], action[0]), theirs.log_prob(action)[0])
    new, old = (torch.distributions.Categorical(logits=x) for x in (logits, logits.flip(0)))
    torch.testing.assert_close(Categorical.kl(logits.flip(0), logits), torch.distributions.kl_divergence(old, new))


def test_a_gaussian_policy_agrees_with_torch_distributions() -> None:
    generator = torch.Generator().manual_seed(0)
    logits, box = torch.randn(5, 6, generator=generator), torch.randn(5, 3, generator=generator)
    mean, log_std = logits[:, :3], logits[:, 3:]
    normal = torch.distributions.Independent(torch.distributions.Normal(mean, log_std.exp()), 1)
    torch.testing.assert_close(DiagonalGaussian.log_prob(logits, box), normal.log_prob(box))
    torch.testing.assert_close(DiagonalGaussian.entropy(logits), normal.entropy())
    torch.testing.assert_close(DiagonalGaussian.sample(logits, box), mean + log_std.exp() * box)
    torch.testing.assert_close(DiagonalGaussian.std(logits), log_std.exp().mean(-1))
    other = torch.distributions.Independent(torch.distributions.Normal(mean.flip(0), log_std.flip(0).exp()), 1)
    apart = torch.distributions.kl_divergence(other, normal)
    torch.testing.assert_close(DiagonalGaussian.kl(logits.flip(0), logits), apart)


def test_a_greedy_policy_takes_the_mode_whatever_the_noise() -> None:
    logits, noise = torch.randn(2, 5, 6), torch.randn(2, 5, 6)
    for family, mode, some in (
        (Categorical, logits.max(-1).indices, noise),
        (DiagonalGaussian, logits[..., :3], noise[..., :3]),
    ):
        assert torch.equal(family.mode(logits), mode)
        assert torch.equal(family.sample(deterministic(lambda obs, legal: logits, family)(noise, noise), some), mode)
    assert torch.equal(
        Categorical.log_prob(Categorical.deterministic(logits), logits.max(-1).indices), torch.zeros(2, 5)
    )


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
