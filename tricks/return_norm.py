"""return_norm: the value net learns standardized returns (ART), whatever the size of the rewards."""

from typing import NamedTuple

from torch import Tensor

from tricks.core.stats import mean


class ReturnStats(NamedTuple):
    """Mean μ [S] and variance [S] of the returns, float64."""

    mean: Tensor
    variance: Tensor

    @property
    def std(self) -> Tensor:
        """σ [S], kept within [1e-4, 1e6]."""
        return self.variance.sqrt().clamp(1e-4, 1e6)

    def move(self, target: Tensor, valid: Tensor, beta: float) -> "ReturnStats":
        """μ ← (1 − β)μ + β·E[G] and likewise E[G²], in a form that cannot cancel. target, valid [S, T, N].

        The variance is that of a mixture of old and new, weighted 1 − β and β; v − μ² would lose it to rounding
        when μ is large. van Hasselt et al. 2016, arXiv:1602.07714.
        """
        target, valid = target.flatten(1).double(), valid.flatten(1)
        new = mean(target, valid)
        spread = mean((target - new.unsqueeze(1)).square(), valid)
        weight = beta * valid.any(1)  # a seed without experience learns nothing of its returns
        between = weight * (1 - weight) * (new - self.mean).square()
        return ReturnStats(
            (1 - weight) * self.mean + weight * new, (1 - weight) * self.variance + weight * spread + between
        )


def _wide(x: Tensor, like: Tensor) -> Tensor:
    return x.view(-1, *(1,) * (like.dim() - 1))


def normalize(value: Tensor, stats: ReturnStats) -> Tensor:
    """(G − μ)/σ. value [S, ...]."""
    return (value - _wide(stats.mean, value)) / _wide(stats.std, value)


def denormalize(output: Tensor, stats: ReturnStats) -> Tensor:
    """σ·n + μ: from the value net's output to units of reward. output [S, ...]."""
    return output * _wide(stats.std, output) + _wide(stats.mean, output)
