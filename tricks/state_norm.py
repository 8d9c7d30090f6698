"""state_norm: observations are standardized with each seed's running mean and variance."""

import torch
from torch import Tensor

from tricks.core.moments import Moments
from tricks.errors import InputError


def merge_moments(moments: Moments, x: Tensor, valid: Tensor) -> Moments:
    """Update the running moments with the valid rows of x [S, B, D], valid [S, B].

    n ← n + k,  mean ← mean + δ·k/n,  M₂ ← M₂ + Σ(x − x̄)² + δ²·n₀k/n,  with δ = x̄ − mean. Chan et al. 1979.
    Raises InputError for images, whose pixels are already on a fixed scale.
    """
    if x.dtype == torch.uint8:
        raise InputError("state_norm standardizes vectors, but these observations are images; leave it off")
    weight, x = valid.double().unsqueeze(-1), x.double()
    count = weight.sum(1)
    batch_mean = (x * weight).sum(1) / count.clamp(min=1)
    batch_squares = ((x - batch_mean.unsqueeze(1)).square() * weight).sum(1)
    total = (moments.rows + count).clamp(min=1e-12)
    delta = batch_mean - moments.mean
    return Moments(
        moments.rows + count,
        moments.mean + delta * count / total,
        moments.squares + batch_squares + delta.square() * moments.rows * count / total,
    )
