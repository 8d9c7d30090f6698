"""The policy: softmax for Discrete actions, a diagonal Gaussian for Box actions."""

from typing import NamedTuple

import numpy as np
from torch import Tensor


class Family(NamedTuple):
    """π(a|s) from logits [..., A] of Discrete actions, or [..., 2A] of Box actions, which hold μ and log σ."""

    discrete: bool

    def noise(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Gumbel noise, as argmax(logits + Gumbel) is distributed as softmax(logits); or standard normal noise."""
        return np.asarray(rng.gumbel(size=shape) if self.discrete else rng.standard_normal(shape, "f4"), np.float32)

    def sample(self, logits: Tensor, noise: Tensor) -> Tensor:
        if self.discrete:
            return (logits + noise).argmax(-1)
        mean, log_std = logits.chunk(2, -1)
        return mean + log_std.exp() * noise

    def log_prob(self, logits: Tensor, action: Tensor) -> Tensor:
        """log π(a), [...]; a Box action counts as it was before it was clipped to its bounds."""
        if self.discrete:
            return logits.mT.log_softmax(-2).mT.gather(-1, action.unsqueeze(-1)).squeeze(-1)
        mean, log_std = logits.chunk(2, -1)
        z = (action - mean) / log_std.exp()
        return -(0.5 * z.square() + log_std + 0.5 * np.log(2 * np.pi)).sum(-1)

    def entropy(self, logits: Tensor) -> Tensor:
        if self.discrete:
            return -((log_prob := logits.mT.log_softmax(-2).mT).exp() * log_prob).sum(-1)
        return (logits.chunk(2, -1)[1] + 0.5 * np.log(2 * np.pi * np.e)).sum(-1)

    def kl(self, old: Tensor, new: Tensor) -> Tensor:
        """KL(π_old ‖ π_new) of two logits, in nats, [...]."""
        if self.discrete:
            old, new = (x.mT.log_softmax(-2).mT for x in (old, new))
            return (old.exp() * (old - new)).sum(-1)
        (old_mean, old_log), (new_mean, new_log) = old.chunk(2, -1), new.chunk(2, -1)
        spread = (2 * old_log).exp() + (old_mean - new_mean).square()
        return (new_log - old_log + 0.5 * spread * (-2 * new_log).exp() - 0.5).sum(-1)
