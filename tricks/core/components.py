"""A policy that makes several choices at once, each from a few: MultiDiscrete and MultiBinary actions."""

from functools import cache
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tricks.core.policies import Categorical

NEVER = -1e30  # exp gives exactly 0, and 0·log 0 is 0; with −∞ the entropy would be NaN


class MultiCategorical(Categorical):
    """π(a) = Πₖ softmax(logitsₖ)ₐₖ: K independent components with nₖ choices each, so that log π and entropies add.

    logits [..., Σnₖ], one component after the other; action [..., K] int64.
    """

    sizes: ClassVar[tuple[int, ...]]
    """nₖ of each component."""

    @classmethod
    def parts(cls, logits: Tensor) -> Tensor:
        """[..., Σnₖ] -> [..., K, max nₖ]; what a component does not have is NEVER chosen."""
        if len(set(cls.sizes)) == 1:
            return logits.view(*logits.shape[:-1], len(cls.sizes), cls.sizes[0])
        return F.pad(logits, (0, 1), value=NEVER)[..., torch.tensor(_places(cls.sizes), device=logits.device)]

    @classmethod
    def sample(cls, logits: Tensor, noise: Tensor) -> Tensor:
        return Categorical.sample(cls.parts(logits), cls.parts(noise))

    @classmethod
    def mode(cls, logits: Tensor) -> Tensor:
        return Categorical.mode(cls.parts(logits))

    @classmethod
    def deterministic(cls, logits: Tensor) -> Tensor:
        """The logits of the policy that always takes the mode."""
        return torch.cat([Categorical.deterministic(part) for part in logits.split(cls.sizes, -1)], -1)

    @classmethod
    def log_prob(cls, logits: Tensor, action: Tensor) -> Tensor:
        """log π(a) = Σₖ log πₖ(aₖ), [...]."""
        return Categorical.log_prob(cls.parts(logits), action).sum(-1)

    @classmethod
    def entropy(cls, logits: Tensor) -> Tensor:
        """The sum of the components' entropies, [...], in nats."""
        return Categorical.entropy(cls.parts(logits)).sum(-1)

    @classmethod
    def kl(cls, old: Tensor, new: Tensor) -> Tensor:
        """The sum of the components' divergences, [...], in nats."""
        return Categorical.kl(cls.parts(old), cls.parts(new)).sum(-1)


@cache
def multi_categorical(sizes: tuple[int, ...]) -> type[MultiCategorical]:
    """The family with components of these sizes."""
    return type(f"MultiCategorical{list(sizes)}", (MultiCategorical,), {"sizes": sizes})


@cache
def _places(sizes: tuple[int, ...]) -> np.ndarray:
    """Where each choice of each component is among the logits, [K, max nₖ]; Σnₖ, which is past the end, if nowhere."""
    counts, choice = np.array(sizes).reshape(-1, 1), np.arange(max(sizes))
    return np.where(choice < counts, counts.cumsum().reshape(-1, 1) - counts + choice, sum(sizes))
