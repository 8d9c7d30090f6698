"""squash: tanh of a Gaussian, stretched to the bounds, with the densities and entropies that this has."""

import math
from collections.abc import Callable
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete, MultiBinary
from support.any_space import AnySpace
from torch import Tensor
from torch.distributions import AffineTransform, Independent, Normal, TanhTransform, TransformedDistribution

from tricks import Config, InputError, train
from tricks.cli.main import main
from tricks.core.policies import DiagonalGaussian
from tricks.ladder import named
from tricks.squash import SquashedGaussian, log_slope, mean_log_slope

LOW, HIGH = (-2.0, 0.5), (2.0, 0.75)
FAMILY, NARROW = SquashedGaussian(LOW, HIGH), SquashedGaussian((-0.1,), (0.3,))
BOX = Box(np.array(LOW, np.float32), np.array(HIGH, np.float32))
SQUASH, SMALL = named("squash"), Config("ShortPendulum-v0", seeds=2, lanes=2, horizon=16, steps=100, hidden=(8,))


def drawn(rows: int = 500) -> tuple[Tensor, Tensor]:
    """Parameters of two dimensions [rows, 4], and numbers u drawn from them [rows, 2]."""
    torch.manual_seed(0)
    logits = torch.randn(rows, 4, dtype=torch.float64) * torch.tensor([1.0, 1.0, 0.4, 0.4])
    return logits, FAMILY.sample(logits, torch.randn(rows, 2, dtype=torch.float64))


def theirs(logits: Tensor) -> Independent:
    """The same distribution, by PyTorch."""
    mean, log_std = logits.chunk(2, -1)
    half = (torch.tensor(HIGH) - torch.tensor(LOW)).double() / 2
    stretch = AffineTransform((torch.tensor(HIGH) + torch.tensor(LOW)).double() / 2, half)
    return Independent(TransformedDistribution(Normal(mean, log_std.exp()), [TanhTransform(), stretch]), 1)


def test_densities_are_those_of_torch_distributions() -> None:
    logits, u = drawn()
    near = (u.abs() < 4).all(-1)  # farther out, their inverse of tanh has lost its digits
    found, right = FAMILY.log_prob(logits, u), theirs(logits).log_prob(FAMILY.played(u))
    torch.testing.assert_close(found[near], right[near], rtol=1e-9, atol=1e-9)
    assert near.double().mean() > 0.8


@pytest.mark.parametrize(("mean", "std"), [(0.0, 0.3), (0.7, 1.0), (-2.0, 2.0)])
def test_the_density_of_an_action_integrates_to_one(mean: float, std: float) -> None:
    u = torch.linspace(mean - 9 * std, mean + 9 * std, 200_001, dtype=torch.float64).unsqueeze(-1)
    density = NARROW.log_prob(torch.tensor([mean, math.log(std)]).double().expand(len(u), 2), u).exp()
    action = -0.1 + 0.4 * (u[:, 0].tanh() + 1) / 2
    assert torch.trapezoid(density, action).item() == pytest.approx(1, abs=1e-4)


def test_known_values() -> None:
    torch.testing.assert_close(FAMILY.played(torch.tensor([0.0, 0.0])), torch.tensor([0.0, 0.625]))
    torch.testing.assert_close(FAMILY.played(torch.tensor([0.5, math.inf])), torch.tensor([2 * math.tanh(0.5), 0.75]))
    at_zero = FAMILY.log_prob(torch.zeros(4), torch.zeros(2))  # tanh′(0) = 1, so only the widths 2 and 1/8 matter
    assert at_zero.item() == pytest.approx(-math.log(2 * math.pi) - math.log(2) - math.log(1 / 8))
    assert log_slope(torch.tensor(1.0)).item() == pytest.approx(math.log(1 - math.tanh(1) ** 2))
    assert FAMILY.mode(torch.tensor([0.3, -1.0, 0.0, 0.0])).tolist() == pytest.approx([0.3, -1.0])


@pytest.mark.parametrize("u", [-1e4, -20.0, 0.0, 20.0, 1e4])
def test_far_out_everything_is_finite_and_within_the_bounds(u: float) -> None:
    drawn, logits = torch.tensor([[u]]), torch.tensor([[u, 0.0]]).requires_grad_()
    action = NARROW.played(drawn)
    assert np.float32(-0.1) <= action.item() <= np.float32(0.3)
    log_prob, entropy = NARROW.log_prob(logits, drawn), NARROW.entropy(logits)
    (gradient,) = torch.autograd.grad((log_prob + entropy).sum(), logits)
    assert all(x.isfinite().all() for x in (log_prob, entropy, gradient))


def test_ratio_kl_and_gradient_are_those_of_the_gaussian_at_the_same_u() -> None:
    logits, u = drawn()
    other = logits.roll(1, 0)
    gradients = []
    for family in (FAMILY, DiagonalGaussian):
        parameters = logits.clone().requires_grad_()
        family.log_prob(parameters, u).sum().backward()
        gradients.append(parameters.grad)
        ratio = family.log_prob(other, u) - family.log_prob(logits, u)
        gradients.append(ratio)
    torch.testing.assert_close(gradients[:2], gradients[2:])
    apart = FAMILY.kl(logits[:5], other[:5])
    torch.manual_seed(1)
    many = FAMILY.sample(logits[:5], torch.randn(200_000, 5, 2).double())
    counted = (FAMILY.log_prob(logits[:5], many) - FAMILY.log_prob(other[:5], many)).mean(0)
    torch.testing.assert_close(apart, counted, rtol=0.02, atol=0.02)


@pytest.mark.parametrize(
    ("std", "error"), [(0.05, 2e-6), (0.5, 2e-6), (1.0, 2e-6), (2.0, 2e-6), (3.0, 1e-4), (5.0, 3e-3)]
)
def test_the_entropy_is_as_exact_as_it_says(std: float, error: float) -> None:
    mean = torch.linspace(-4, 4, 41, dtype=torch.float64)
    z = torch.linspace(-9, 9, 36_001, dtype=torch.float64)
    exact = (log_slope(mean.unsqueeze(1) + std * z) * (-z.square() / 2).softmax(0)).sum(1)
    assert (mean_log_slope(mean, torch.full_like(mean, std)) - exact).abs().max() < error


def test_the_entropy_is_the_mean_of_minus_log_pi() -> None:
    logits, _ = drawn(6)
    torch.manual_seed(2)
    u = FAMILY.sample(logits, torch.randn(400_000, 6, 2).double())
    surprise = -FAMILY.log_prob(logits, u)
    noise = surprise.std(0) / math.sqrt(len(u))
    assert ((FAMILY.entropy(logits) - surprise.mean(0)).abs() < 4 * noise).all()


def test_the_entropy_has_a_largest_value_that_of_the_uniform_distribution() -> None:
    log_std = torch.linspace(-3, 2, 101, dtype=torch.float64)
    entropy = NARROW.entropy(torch.stack([torch.zeros_like(log_std), log_std], -1))
    assert entropy.max() < math.log(0.4)
    assert entropy.max() > math.log(0.4) - 0.01
    assert 0.8 < log_std[entropy.argmax()].exp() < 0.95  # wider than that, it falls again
    assert entropy[-1] < entropy.max() - 1


def test_stable_baselines3_is_less_exact_by_its_epsilon() -> None:
    distributions = pytest.importorskip("stable_baselines3.common.distributions")
    logits, u = drawn()
    mean, log_std = logits.chunk(2, -1)
    other = distributions.SquashedDiagGaussianDistribution(2).proba_distribution(mean, log_std)
    found = SquashedGaussian((-1, -1), (1, 1)).log_prob(logits, u)
    gap = found - other.log_prob(u.tanh(), gaussian_actions=u)
    # log(1 − tanh² + ε) is too large by less than ε/(1 − tanh²), so their log π is too small
    assert (gap >= -1e-9).all()
    assert (gap <= (other.epsilon * (-log_slope(u)).exp()).sum(-1) + 1e-9).all()
    assert gap.max() > 1e-6


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (Discrete(3), r"squash needs Box actions between two finite bounds, not Discrete\(3\); leave it off"),
        (MultiBinary(3), r"not MultiBinary\(3\)"),
        (Box(-np.inf, np.inf, (2,)), r"not Box\(-inf, inf, \(2,\), float32\)"),
        (Box(0, np.inf, (1,)), r"not Box\(0.0, inf, \(1,\), float32\)"),
        (Box(np.zeros(2, np.float32), np.array([0, 1], np.float32)), r"not Box\(0.0, \[0. 1.\], \(2,\), float32\)"),
    ],
)
def test_other_actions_are_refused_in_one_line(space: gym.Space, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        train(replace(SMALL, env="own"), SQUASH, env=lambda: AnySpace(action=space))
    assert "\n" not in str(caught.value)


def test_a_command_line_that_does_not_fit_is_refused(refuses: Callable[..., None]) -> None:
    refuses(main, ["train", "squash", "--env", "CartPole-v1"], "leave it off with --no-squash (squash=False)")
