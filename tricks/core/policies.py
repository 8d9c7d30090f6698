"""The policy families. All take the policy net's output, called logits, and sample by adding noise drawn in advance."""

import math
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tricks.fast.dispatch import faster

NEVER = -1e30  # exp gives exactly 0, and 0·log 0 is 0; with −∞ the entropy would be NaN


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
    @faster("tricks.fast.rows")
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


class MultiCategorical(Categorical):
    """π(a) = Πₖ softmax(logitsₖ)ₐₖ of K independent components with nₖ choices. logits [..., Σnₖ], action [..., K]."""

    sizes: ClassVar[tuple[int, ...]]  # nₖ of each component
    places: ClassVar[np.ndarray]  # of each choice among the logits, [K, max nₖ]; past their end, Σnₖ, if it has none

    @classmethod
    def parts(cls, logits: Tensor) -> Tensor:
        """[..., Σnₖ] -> [..., K, max nₖ]; what a component does not have is NEVER chosen."""
        if len(set(cls.sizes)) == 1:
            return logits.view(*logits.shape[:-1], len(cls.sizes), cls.sizes[0])
        return F.pad(logits, (0, 1), value=NEVER)[..., torch.tensor(cls.places, device=logits.device)]

    @classmethod
    def sample(cls, logits: Tensor, noise: Tensor) -> Tensor:
        return Categorical.sample(cls.parts(logits), cls.parts(noise))

    @classmethod
    def mode(cls, logits: Tensor) -> Tensor:
        return Categorical.mode(cls.parts(logits))

    @classmethod
    def log_prob(cls, logits: Tensor, action: Tensor) -> Tensor:
        return Categorical.log_prob(cls.parts(logits), action).sum(-1)

    @classmethod
    def entropy(cls, logits: Tensor) -> Tensor:
        return Categorical.entropy(cls.parts(logits)).sum(-1)

    @classmethod
    def kl(cls, old: Tensor, new: Tensor) -> Tensor:
        return Categorical.kl(cls.parts(old), cls.parts(new)).sum(-1)


@cache
def multi_categorical(sizes: tuple[int, ...]) -> type[MultiCategorical]:
    """The family with components of these sizes."""
    counts, choice = np.array(sizes).reshape(-1, 1), np.arange(max(sizes))
    places = np.where(choice < counts, counts.cumsum().reshape(-1, 1) - counts + choice, sum(sizes))
    return type(f"MultiCategorical{list(sizes)}", (MultiCategorical,), {"sizes": sizes, "places": places})


class DiagonalGaussian:
    """π(a) = N(μ, σ²) in each dimension. logits [..., 2A] hold μ and log σ; action [..., A]."""

    @staticmethod
    def noise(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)

    @staticmethod
    def sample(logits: Tensor, noise: Tensor) -> Tensor:
        mean, log_std = logits.chunk(2, -1)
        return mean + log_std.exp() * noise

    played = staticmethod(Categorical.played)  # the environment cuts it off at its bounds

    @staticmethod
    def mode(logits: Tensor) -> Tensor:
        return logits.chunk(2, -1)[0]

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


def noiseless(family: Family) -> Any:
    """What a `Player` needs of a family that always takes its mode: without noise, a sample is the mode."""
    return SimpleNamespace(played=family.played, sample=family.sample, noise=lambda rng, shape: np.zeros(shape, "f4"))
