"""Exercises of the chapter on return normalization."""

import torch
from torch import Tensor

from book.exercise import Exercise
from tricks.core.agent import Agent
from tricks.core.rollout import Rollout

Pair = tuple[float, float]  # mean, variance


@torch.no_grad()
def values_of(agent: Agent, rollout: Rollout) -> tuple[Tensor, Tensor]:
    """V(s) and V(s') of every row: [S, T, N] each."""
    rows = rollout.obs.shape[:3]  # [S, T+1, N]
    value = agent.value(rollout.obs.flatten(1, 2)).view(rows)
    return value[:, :-1], value[:, 1:]


def _right(mean: float, variance: float, returns: Tensor, beta: float) -> Pair:
    new, spread = returns.mean().item(), returns.var(correction=0).item()
    between = beta * (1 - beta) * (new - mean) ** 2
    return (1 - beta) * mean + beta * new, (1 - beta) * variance + beta * spread + between


def _within_only(mean: float, variance: float, returns: Tensor, beta: float) -> Pair:
    moved, _ = _right(mean, variance, returns, beta)
    return moved, (1 - beta) * variance + beta * returns.var(correction=0).item()


def _swapped(mean: float, variance: float, returns: Tensor, beta: float) -> Pair:
    return _right(mean, variance, returns, 1 - beta)


def _deviations(mean: float, variance: float, returns: Tensor, beta: float) -> Pair:
    moved, _ = _right(mean, variance, returns, beta)
    between = beta * (1 - beta) * (returns.mean().item() - mean) ** 2
    std = (1 - beta) * variance**0.5 + beta * returns.std(correction=0).item()
    return moved, std**2 + between


def _unbiased(mean: float, variance: float, returns: Tensor, beta: float) -> Pair:
    moved, right = _right(mean, variance, returns, beta)
    return moved, right + beta * (returns.var().item() - returns.var(correction=0).item())


def _from_old_mean(mean: float, variance: float, returns: Tensor, beta: float) -> Pair:
    moved, _ = _right(mean, variance, returns, beta)
    return moved, (1 - beta) * variance + beta * (returns - mean).square().mean().item()


def _from_new_mean(mean: float, variance: float, returns: Tensor, beta: float) -> Pair:
    moved, _ = _right(mean, variance, returns, beta)
    return moved, (1 - beta) * variance + beta * (returns - moved).square().mean().item()


check_move = Exercise(
    _right,
    cases=(
        {"mean": 0.0, "variance": 1.0, "returns": torch.tensor([1.0, 2.0, 4.0, 9.0]), "beta": 0.25},
        {"mean": 50.0, "variance": 9.0, "returns": torch.tensor([40.0, 44.0]), "beta": 0.1},
        {"mean": 3.0, "variance": 4.0, "returns": torch.tensor([3.0, 5.0, 7.0]), "beta": 0.5},
    ),
    mistakes={
        "this is the spread within old and new. Where their means differ, add β(1 − β)(m − μ)².": _within_only,
        "β is the share of the new batch, and 1 − β that of the old statistics; you have them the other way around.": (
            _swapped
        ),
        "average variances, not standard deviations: only variances of a mixture add up.": _deviations,
        "the batch's variance divides by n here, not by n − 1: it describes this batch, and estimates nothing else.": (
            _unbiased
        ),
        "deviations from the old mean count the distance of the means as β(m − μ)²; around the new mean it is "
        "β(1 − β)(m − μ)².": _from_old_mean,
        "take the batch's deviations from its own mean, not from the moved one.": _from_new_mean,
    },
)
