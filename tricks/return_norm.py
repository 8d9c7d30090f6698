"""return_norm: the value net learns standardized returns (ART), so the scale of the rewards does not matter."""

from torch import Tensor

from tricks.config import Number
from tricks.core.moments import ReturnStats
from tricks.core.numbers import per_seed
from tricks.core.reductions import mean


def move_stats(stats: ReturnStats, target: Tensor, valid: Tensor, beta: Number) -> ReturnStats:
    """μ ← (1 − β)μ + β·E[G], and the same for E[G²], in a numerically stable form. target, valid [S, T, N].

    The variance is that of a mixture of old and new, with weights 1 − β and β; computing it as E[G²] − μ² would lose
    it to rounding when μ is large. van Hasselt et al. 2016, arXiv:1602.07714.
    """
    target, valid = target.flatten(1).double(), valid.flatten(1)
    new = mean(target, valid)
    spread = mean((target - new.unsqueeze(1)).square(), valid)
    weight = per_seed(beta, new) * valid.any(1).to(new)  # without valid rows, a seed's statistics stay as they are
    between = weight * (1 - weight) * (new - stats.mean).square()
    return ReturnStats(
        (1 - weight) * stats.mean + weight * new, (1 - weight) * stats.variance + weight * spread + between
    )
