"""Running statistics of observations and returns, with a seed axis."""

from typing import NamedTuple

import torch
from torch import Tensor

LIMIT = 10.0  # standard deviations


class Moments(NamedTuple):
    """Count [S, 1], mean [S, D] and sum of squared deviations [S, D] of all rows so far, in float64."""

    rows: Tensor
    mean: Tensor
    squares: Tensor

    @classmethod
    def empty(cls, seeds: int, features: int) -> "Moments":
        """No rows yet."""
        return cls(*(torch.zeros(seeds, width, dtype=torch.float64) for width in (1, features, features)))

    @property
    def variance(self) -> Tensor:
        """Biased (population) variance [S, D]."""
        return self.squares / self.rows.clamp(min=1e-12)

    def view(self, eps: float = 1e-8) -> tuple[Tensor, Tensor]:
        """Mean and 1/√(variance + ε), float32 [S, 1, D] each."""
        scale = (self.variance + eps).rsqrt()
        return self.mean.float().unsqueeze(1), scale.float().unsqueeze(1)


class ReturnStats(NamedTuple):
    """Mean μ and variance of the returns, float64: [S], or [S, K] in an environment of K tasks."""

    mean: Tensor
    variance: Tensor
    task: Tensor | None = None  # [S, ...] int64: which of K tasks each row of the rollout at hand belongs to

    @property
    def std(self) -> Tensor:
        """σ [S] or [S, K], clamped to [1e-4, 1e6]."""
        return self.variance.sqrt().clamp(1e-4, 1e6)

    def of(self, task: Tensor | None) -> "ReturnStats":
        """The same statistics for other rows."""
        return self._replace(task=task)


def normalize(value: Tensor, stats: ReturnStats) -> Tensor:
    """(G − μ)/σ. value [S, ...]."""
    return (value - per_row(stats.mean, value, stats.task)) / per_row(stats.std, value, stats.task)


def denormalize(output: Tensor, stats: ReturnStats) -> Tensor:
    """σ·n + μ: the value net's output in units of reward. output [S, ...]."""
    return output * per_row(stats.std, output, stats.task) + per_row(stats.mean, output, stats.task)


def per_row(x: Tensor, like: Tensor, task: Tensor | None = None) -> Tensor:
    """The number of each row's seed, x [S], or of its seed and task, x [S, K], in a shape that goes with `like`."""
    if task is None:
        return x.view(-1, *(1,) * (like.dim() - 1))
    return x.gather(1, task.flatten(1)).view(like.shape)
