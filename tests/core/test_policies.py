"""Policies: what they sample, and their log-probabilities and entropies."""

import numpy as np
import torch

from tricks import Config
from tricks.action_mask import mask_logits
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


def gaussian(logits: torch.Tensor) -> torch.distributions.Independent:
    mean, log_std = logits.chunk(2, -1)
    return torch.distributions.Independent(torch.distributions.Normal(mean, log_std.exp()), 1)


def test_policies_agree_with_torch_distributions() -> None:
    generator, D = torch.Generator().manual_seed(0), torch.distributions
    logits, action = torch.randn(5, 4, generator=generator), torch.tensor([0, 3, 1, 2, 2])
    box, (mean, log_std) = torch.randn(5, 2, generator=generator), logits.chunk(2, -1)
    for family, taken, theirs, other in (
        (Categorical, action, D.Categorical(logits=logits), D.Categorical(logits=logits.flip(0))),
        (DiagonalGaussian, box, gaussian(logits), gaussian(logits.flip(0))),
    ):
        torch.testing.assert_close(family.log_prob(logits, taken), theirs.log_prob(taken))
        torch.testing.assert_close(family.log_prob(logits[0], taken[0]), theirs.log_prob(taken)[0])
        torch.testing.assert_close(family.entropy(logits), theirs.entropy())
        torch.testing.assert_close(family.kl(logits.flip(0), logits), D.kl_divergence(other, theirs))
    torch.testing.assert_close(DiagonalGaussian.sample(logits, box), mean + log_std.exp() * box)
    torch.testing.assert_close(DiagonalGaussian.std(logits), log_std.exp().mean(-1))
    legal = torch.tensor([True, False, True, True])
    masked = Categorical.kl(mask_logits(logits, legal), mask_logits(logits.flip(0), legal))  # counts legal actions only
    torch.testing.assert_close(masked, Categorical.kl(logits[:, legal], logits.flip(0)[:, legal]))


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
