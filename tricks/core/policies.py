"""The two policy families: Categorical for Discrete actions, a diagonal Gaussian for Box actions.

Both take the policy net's output, called logits even for the Gaussian, and sample by adding noise drawn in advance.
The old log-probabilities are computed once per rollout, not at every step.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tricks.fast.dispatch import faster


def log_softmax(logits: Tensor) -> Tensor:
    """Over the last axis. With few actions, a CPU is several times faster if rows, not actions, are contiguous."""
    return logits.mT.log_softmax(-2).mT if logits.dim() > 1 else logits.log_softmax(-1)


class Categorical:
    """π(a) = softmax(logits)ₐ. logits [..., A], action [...] int64."""

    @staticmethod
    def noise(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Gumbel noise: argmax(logits + Gumbel) is distributed as softmax(logits). Gumbel 1954."""
        return rng.gumbel(size=shape).astype(np.float32)

    @staticmethod
    def sample(logits: Tensor, noise: Tensor) -> Tensor:
        return (logits + noise).argmax(-1)

    @staticmethod
    def played(action: Tensor) -> Tensor:
        """What the environment is given: the action itself."""
        return action

    @staticmethod
    def mode(logits: Tensor) -> Tensor:
        return logits.argmax(-1)

    @staticmethod
    def deterministic(logits: Tensor) -> Tensor:
        """The logits of the policy that always takes the mode."""
        return torch.full_like(logits, -torch.inf).scatter(-1, logits.argmax(-1, keepdim=True), 0)

    @staticmethod
    @faster("rows")
    def log_prob(logits: Tensor, action: Tensor) -> Tensor:
        """log π(a), [...]."""
        return log_softmax(logits).gather(-1, action.unsqueeze(-1)).squeeze(-1)

    @staticmethod
    def entropy(logits: Tensor) -> Tensor:
        """−Σₐ π(a)·log π(a), [...], in nats."""
        log_prob = log_softmax(logits)
        return -(log_prob.exp() * log_prob).sum(-1)

    @staticmethod
    def kl(old: Tensor, new: Tensor) -> Tensor:
        """KL(π_old ‖ π_new) = Σₐ π_old(a)·(log π_old(a) − log π_new(a)), [...], from two sets of logits, in nats."""
        old, new = log_softmax(old), log_softmax(new)
        return (old.exp() * (old - new)).sum(-1)


class DiagonalGaussian:
    """π(a) = N(μ, σ²) in each dimension. logits [..., 2A] hold μ and log σ; action [..., A]."""

    @staticmethod
    def noise(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)

    @staticmethod
    def sample(logits: Tensor, noise: Tensor) -> Tensor:
        mean, log_std = logits.chunk(2, -1)
        return mean + log_std.exp() * noise

    @staticmethod
    def played(action: Tensor) -> Tensor:
        """What the environment is given: the action itself, which it cuts off at its bounds."""
        return action

    @staticmethod
    def mode(logits: Tensor) -> Tensor:
        return logits.chunk(2, -1)[0]

    @staticmethod
    def deterministic(logits: Tensor) -> Tensor:
        """The logits of the policy that always takes the mode: σ = 0."""
        mean = logits.chunk(2, -1)[0]
        return torch.cat([mean, torch.full_like(mean, -torch.inf)], -1)

    @staticmethod
    def log_prob(logits: Tensor, action: Tensor) -> Tensor:
        """log π(a) of the action before it was clipped to the environment's bounds, [...]."""
        mean, log_std = logits.chunk(2, -1)
        z = (action - mean) / log_std.exp()
        return -(0.5 * z.square() + log_std + 0.5 * math.log(2 * math.pi)).sum(-1)

    @staticmethod
    def entropy(logits: Tensor) -> Tensor:
        """Σ log σ + ½·log 2πe, [...], in nats."""
        return (logits.chunk(2, -1)[1] + 0.5 * math.log(2 * math.pi * math.e)).sum(-1)

    @staticmethod
    def std(logits: Tensor) -> Tensor:
        """σ, the mean over dimensions, [...]."""
        return logits.chunk(2, -1)[1].exp().mean(-1)

    @staticmethod
    def kl(old: Tensor, new: Tensor) -> Tensor:
        """KL(π_old ‖ π_new) = Σ log σ_new/σ_old + (σ_old² + (μ_old − μ_new)²)/2σ_new² − ½, [...], in nats."""
        (old_mean, old_log), (new_mean, new_log) = old.chunk(2, -1), new.chunk(2, -1)
        spread = (2 * old_log).exp() + (old_mean - new_mean).square()
        return (new_log - old_log + 0.5 * spread * (-2 * new_log).exp() - 0.5).sum(-1)


Family = type[Categorical] | type[DiagonalGaussian] | DiagonalGaussian  # an instance, if it has facts of its own


def deterministic(policy: Callable[[Any, Tensor], Tensor], family: Family) -> Callable[[Any, Tensor], Tensor]:
    """A greedy version of a policy, which always takes its mode."""

    def decided(obs: Any, legal: Tensor) -> Tensor:
        return family.deterministic(policy(obs, legal))

    return decided
