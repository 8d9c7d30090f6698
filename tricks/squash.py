"""squash: tanh maps Box actions into their bounds, and log π accounts for it, instead of cutting actions off there."""

# mypy: disable-error-code="override"
# (the methods of a family are static, and these know their bounds)

import math
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from gymnasium.spaces import Box
from torch import Tensor

from tricks.core.env import Env
from tricks.core.policies import DiagonalGaussian
from tricks.errors import InputError

REACH = 5.5  # of the grid that a mean over a Gaussian is taken on, in its standard deviations
POINTS = 33


@dataclass(frozen=True)
class SquashedGaussian(DiagonalGaussian):
    """a = c + h·tanh(u) in each dimension, u ~ N(μ, σ²); the bounds are c ± h. logits [..., 2A] hold μ and log σ.

    What is stored and learned from is u, [..., A], so nothing has to be inverted. The correction depends on u alone:
    ratios, KL, and the gradient of log π(a) are the Gaussian's. Haarnoja et al. 2018, arXiv:1801.01290, appendix C.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    def played(self, action: Tensor) -> Tensor:
        """What the environment is given, within the bounds: u -> a, [..., A]."""
        low, high = action.new_tensor(self.low), action.new_tensor(self.high)
        action = (low / 2 + high / 2) + (high / 2 - low / 2) * action.tanh()
        return torch.minimum(torch.maximum(action, low), high)  # of what rounding adds

    def log_prob(self, logits: Tensor, action: Tensor) -> Tensor:
        """log π(a) = log N(u) − Σ log tanh′(u) − Σ log h, [...], per unit of the environment's action."""
        return super().log_prob(logits, action) - log_slope(action).sum(-1) - self.log_widths

    def entropy(self, logits: Tensor) -> Tensor:
        """H(N) + Σ E[log tanh′(u)] + Σ log h, [...], in nats; it has no closed form."""
        mean, log_std = logits.chunk(2, -1)
        return super().entropy(logits) + mean_log_slope(mean, log_std.exp()).sum(-1) + self.log_widths

    @property
    def log_widths(self) -> float:
        """Σ log h, h = (high − low)/2."""
        return sum(math.log(high / 2 - low / 2) for low, high in zip(self.low, self.high, strict=True))


def log_slope(u: Tensor) -> Tensor:
    """log tanh′(u) = log(1 − tanh²(u)) = 2·(log 2 − u + log sigmoid(2u)), [...], finite where tanh(u) rounds to 1."""
    # −softplus(−2u) is the same number, but its last digit depends on the place in the tensor
    return 2 * (math.log(2) - u + F.logsigmoid(2 * u))


def mean_log_slope(mean: Tensor, std: Tensor) -> Tensor:
    """E[log tanh′(u)], u ~ N(mean, std²), by an even grid over ±5.5 σ; off by 2·10⁻⁶ for σ ≤ 2, 3·10⁻³ at 5."""
    z = torch.linspace(-REACH, REACH, POINTS, dtype=mean.dtype, device=mean.device)
    weight = (-z.square() / 2).softmax(0)
    return (log_slope(mean.unsqueeze(-1) + std.unsqueeze(-1) * z) * weight).sum(-1)


def refuse_env(env: Env) -> None:
    """Raise InputError for actions without finite bounds."""
    squashed(env.spaces.action)


def squashed(space: gym.Space[Any]) -> SquashedGaussian:
    """The policy family for a Box with finite bounds. Raises InputError, saying what to do, for any other space."""
    most = np.finfo(np.float32).max  # the largest number that the policy computes
    if not isinstance(space, Box) or not ((-most <= space.low) & (space.low < space.high) & (space.high <= most)).all():
        given = " ".join(str(space).split())
        how = "leave it off with --no-squash (squash=False)"
        raise InputError(f"squash needs Box actions between two finite bounds, not {given}; {how}")
    return SquashedGaussian(tuple(space.low.ravel().tolist()), tuple(space.high.ravel().tolist()))
