"""state_norm: observations standardized by the running mean and variance of all that a seed has seen."""

from typing import NamedTuple

import torch
from torch import Tensor

from tricks.core.errors import InputError

LIMIT = 10.0  # standard deviations


class Moments(NamedTuple):
    """Number of rows [S, 1], mean [S, D] and sum of squared deviations [S, D] of all rows seen so far, in float64."""

    rows: Tensor
    mean: Tensor
    squares: Tensor

    @classmethod
    def empty(cls, seeds: int, features: int) -> "Moments":
        return cls(*(torch.zeros(seeds, width, dtype=torch.float64) for width in (1, features, features)))

    @property
    def variance(self) -> Tensor:
        """Biased (population) variance [S, D]."""
        return self.squares / self.rows.clamp(min=1e-12)

    def merge(self, x: Tensor, valid: Tensor) -> "Moments":
        """The moments with the valid rows of x [S, B, D], valid [S, B], taken in. Chan et al. 1979.

        Raises InputError if x are images, whose pixels have a scale of their own.
        """
        if x.dtype == torch.uint8:
            raise InputError("state_norm standardizes vectors, and these observations are images; leave it off")
        weight, x = valid.double().unsqueeze(-1), x.double()
        count = weight.sum(1)
        batch_mean = (x * weight).sum(1) / count.clamp(min=1)
        batch_squares = ((x - batch_mean.unsqueeze(1)).square() * weight).sum(1)
        total = (self.rows + count).clamp(min=1e-12)
        delta = batch_mean - self.mean
        return Moments(
            self.rows + count,
            self.mean + delta * count / total,
            self.squares + batch_squares + delta.square() * self.rows * count / total,
        )

    def view(self, eps: float = 1e-8) -> tuple[Tensor, Tensor]:
        """Mean and 1/√(variance + ε), float32 [S, 1, D] each: s is seen as clip((s − mean)/√(variance + ε), ±10).

        Move the moments between rollouts only: inside one, they would move π, and the first ratio with it.
        Andrychowicz et al. 2020, arXiv:2006.05990, C64.
        """
        scale = (self.variance + eps).rsqrt()
        return self.mean.float().unsqueeze(1), scale.float().unsqueeze(1)
