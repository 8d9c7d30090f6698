"""state_norm: observations are standardized with each seed's running mean and variance."""

from torch import Tensor

from tricks.config import Number
from tricks.core.moments import Moments
from tricks.core.numbers import per_seed


def merge_moments(moments: Moments, x: Tensor, valid: Tensor, decay: Number = 0.0) -> Moments:
    """Update the running moments with the valid rows of x [S, B, D], valid [S, B].

    n ← n₀ + k,  mean ← mean + δ·k/n,  M₂ ← M₂ + Σ(x − x̄)² + δ²·n₀k/n,  with δ = x̄ − mean. Chan et al. 1979.
    Before that, all rows so far lose the share `decay` of their weight, n₀ and M₂, unless the seed has no new ones.
    With batches of k rows, n approaches k/decay, and each batch then moves the mean by decay·δ: an exponential moving
    average.
    """
    keep = 1 - per_seed(decay, moments.rows) * valid.any(1, keepdim=True)
    moments = Moments(keep * moments.rows, moments.mean, keep * moments.squares)
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
