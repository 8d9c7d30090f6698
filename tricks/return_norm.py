"""return_norm: the value net learns standardized returns (ART), and running statistics follow the rewards' scale."""

from torch import Tensor, stack, where, zeros_like

from tricks.config import PerSeed
from tricks.core.agent import Agent
from tricks.core.moments import ReturnStats, per_row
from tricks.core.reductions import mean
from tricks.core.rollout import Rollout
from tricks.core.seeds import per_seed


def unmoved(unit: ReturnStats, first_batch: bool) -> ReturnStats:
    """Where the statistics start: μ = 0 and σ² = 1, as in `unit`, or σ² = 0, which leaves it to the first batch."""
    return unit._replace(variance=zeros_like(unit.variance)) if first_batch else unit


def follow_returns_(agent: Agent, rollout: Rollout, target: Tensor, beta: PerSeed) -> tuple[ReturnStats, ReturnStats]:
    """Move the agent's statistics toward those of the targets [S, T, N]; returned as they were, and as they are now."""
    before = agent.return_stats.of(rollout.task)
    agent.return_stats = stats = move_stats(before, target, rollout.valid, beta)
    return before, stats


def move_stats(stats: ReturnStats, target: Tensor, valid: Tensor, beta: PerSeed) -> ReturnStats:
    """μ ← (1 − β)μ + β·E[G], and the same for E[G²], in a numerically stable form. target, valid [S, T, N].

    The variance is that of a mixture of old and new, with weights 1 − β and β; computing it as E[G²] − μ² would lose
    it to rounding when μ is large. Where σ² = 0, there is no scale yet to average with, and β is 1. van Hasselt et al.
    2016, arXiv:1602.07714. Each task has statistics of its own: Hessel et al. 2018, arXiv:1809.04474.
    """
    if stats.task is not None:
        each = [ReturnStats(*column) for column in zip(stats.mean.unbind(1), stats.variance.unbind(1), strict=True)]
        moved = [move_stats(one, target, valid & (stats.task == k), beta) for k, one in enumerate(each)]
        mean_of, variance_of, _ = zip(*moved, strict=True)
        return ReturnStats(stack(mean_of, 1), stack(variance_of, 1), stats.task)
    target, valid = target.flatten(1).double(), valid.flatten(1)
    new = mean(target, valid)
    spread = mean((target - new.unsqueeze(1)).square(), valid)
    weight = valid.any(1).to(new)  # without valid rows, a seed's statistics stay as they are
    weight = where(stats.variance == 0, weight, per_seed(beta, new) * weight)
    between = weight * (1 - weight) * (new - stats.mean).square()
    return ReturnStats(
        (1 - weight) * stats.mean + weight * new, (1 - weight) * stats.variance + weight * spread + between
    )


def per_task(advantage: Tensor, stats: ReturnStats) -> Tensor:
    """A/σ of each row's task, so that tasks of different magnitude weigh alike in the policy's gradient. [S, T, N].

    In an environment of one task, A as it is. Hessel et al. 2018, arXiv:1809.04474.
    """
    return advantage if stats.task is None else advantage / per_row(stats.std, advantage, stats.task)
