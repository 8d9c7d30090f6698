"""popart: when the return statistics move, rescale the value head so that its predictions stay the same."""

import torch
from torch import Tensor, where

from tricks.core.moments import ReturnStats, denormalize, normalize
from tricks.core.nets import Net


@torch.no_grad()
def preserve_outputs_(net: Net, old: ReturnStats, new: ReturnStats) -> None:
    """W ← W·σ/σ′,  b ← (σb + μ − μ′)/σ′, in place, so that σ′(W′h + b′) + μ′ = σ(Wh + b) + μ. Per seed.

    Where `old` has σ² = 0, nothing changes. Adam's moments are left alone: in normalized units, gradients are of order
    one before and after. van Hasselt et al. 2016, arXiv:1602.07714, proposition 1.
    """
    old = with_a_scale(old, new)
    weight, bias = net.layers[-1]  # [S, D, K] float32, [S, 1, K] float64: an output for each of K tasks
    (mu, sigma), (new_mu, new_sigma) = ((s.mean.view(bias.shape), s.std.view(bias.shape)) for s in (old, new))
    weight.copy_(weight * (sigma / new_sigma))
    bias.copy_((sigma * bias + mu - new_mu) / new_sigma)


def renormalize(output: Tensor, old: ReturnStats, new: ReturnStats) -> Tensor:
    """The same predictions in the new units: (σn + μ − μ′)/σ′, where n is the `output` in the old ones. [S, ...]."""
    return normalize(denormalize(output, with_a_scale(old, new)), new)


def with_a_scale(old: ReturnStats, new: ReturnStats) -> ReturnStats:
    """`old`, or `new` where σ² = 0: before the first batch, there is only what an untrained net says to preserve."""
    none = old.variance == 0
    return ReturnStats(where(none, new.mean, old.mean), where(none, new.variance, old.variance), old.task)
