"""Exercises of the chapter on return normalization."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.core.agent import Agent
from tricks.core.rollout import Rollout

Pair = tuple[float, float]  # mean, variance


@torch.no_grad()
def values_of(agent: Agent, rollout: Rollout) -> tuple[Tensor, Tensor]:
    """V(s) and V(s') of every row: [S, T, N] each."""
    rows = rollout.obs.shape[:3]  # [S, T+1, N]
    value = agent.value(rollout.obs.flatten(1, 2)).view(rows)
    return value[:, :-1], value[:, 1:]


def _moved(mean: float, returns: Tensor, beta: float) -> float:
    return (1 - beta) * mean + beta * returns.mean().item()


def _spread(center: float, variance: float, returns: Tensor, beta: float) -> float:
    return (1 - beta) * variance + beta * (returns - center).square().mean().item()


def _right(mean: float, variance: float, returns: Tensor, beta: float) -> Pair:
    new = returns.mean().item()
    return _moved(mean, returns, beta), _spread(new, variance, returns, beta) + beta * (1 - beta) * (new - mean) ** 2


def _deviations(mean: float, variance: float, returns: Tensor, beta: float) -> Pair:
    std = (1 - beta) * variance**0.5 + beta * returns.std(correction=0).item()
    return _moved(mean, returns, beta), std**2 + beta * (1 - beta) * (returns.mean().item() - mean) ** 2


def _mean_of_squares(mean: float, variance: float, returns: Tensor, beta: float) -> Pair:
    squares = (1 - beta) * torch.tensor(variance + mean**2) + beta * returns.square().mean()
    return _moved(mean, returns, beta), (squares - _moved(mean, returns, beta) ** 2).item()


check_move = Exercise(
    _right,
    cases=(
        {"mean": 0.0, "variance": 1.0, "returns": torch.tensor([1.0, 2.0, 4.0, 9.0]), "beta": 0.25},
        {"mean": 50.0, "variance": 9.0, "returns": torch.tensor([40.0, 44.0]), "beta": 0.1},
        {"mean": 3.0, "variance": 4.0, "returns": torch.tensor([3.0, 5.0, 7.0]), "beta": 0.5},
        {"mean": 10_000.0, "variance": 1.0, "returns": 10_000 + torch.tensor([0.0, 1.0, 2.0, 3.0]), "beta": 0.5},
    ),
    mistakes={
        "this is the spread within old and new. Where their means differ, add β(1 − β)(m − μ)².": (
            lambda m, v, r, b: (_moved(m, r, b), _spread(r.mean().item(), v, r, b))
        ),
        "β is the share of the new batch, and 1 − β that of the old statistics; you have them the other way around.": (
            lambda m, v, r, b: _right(m, v, r, 1 - b)
        ),
        "average variances, not standard deviations: only variances of a mixture add up.": _deviations,
        "divide the batch's variance by n here, not by n − 1: it describes this batch, and estimates nothing else.": (
            lambda m, v, r, b: (_moved(m, r, b), _right(m, v, r, b)[1] + b * (r.var() - r.var(correction=0)).item())
        ),
        "deviations from the old mean add β(m − μ)²; from the new mean, they add β(1 − β)(m − μ)².": (
            lambda m, v, r, b: (_moved(m, r, b), _spread(m, v, r, b))
        ),
        "take the batch's deviations from its own mean, not from the moved one.": (
            lambda m, v, r, b: (_moved(m, r, b), _spread(_moved(m, r, b), v, r, b))
        ),
        "far from 0, a mean of squares minus the square of a mean loses all its digits.": _mean_of_squares,
    },
    drawn=lambda d: {
        "mean": d.number(-5.0, 5.0),
        "variance": d.number(0.5, 9.0),
        "returns": d.tensor(6, low=-9.0, high=9.0),
        "beta": d.number(0.05, 0.4),
    },
)


def _sums(reward: Sequence[float], done: Sequence[bool], gamma: float) -> list[float]:
    """R of every step."""
    sums, total = [], 0.0
    for each, end in zip(reward, done, strict=True):
        total = gamma * total + each
        sums.append(total)
        total *= not end
    return sums


def _spreads(sums: Sequence[float]) -> list[float]:
    """The standard deviation of the first one, of the first two, ..."""
    return [float(np.std(sums[: t + 1])) for t in range(len(sums))]


def _ahead(reward: Sequence[float], done: Sequence[bool], gamma: float) -> list[float]:
    ends = [*reversed(done[:-1]), False]  # backward, a sum ends with an episode's first step
    return _spreads(_sums(reward[::-1], ends, gamma)[::-1])


def _unbiased_spreads(reward: Sequence[float], done: Sequence[bool], gamma: float) -> list[float]:
    sums = _sums(reward, done, gamma)
    return [float(np.std(sums[: t + 1], ddof=1)) if t else np.nan for t in range(len(sums))]


def _anew(reward: Sequence[float], done: Sequence[bool], gamma: float) -> list[float]:
    sums, first, found = _sums(reward, done, gamma), 0, []
    for t, end in enumerate(done):
        found.append(float(np.std(sums[first : t + 1])))
        first = t + 1 if end else first
    return found


check_deviation = Exercise(
    lambda reward, done, gamma: _spreads(_sums(reward, done, gamma)),
    cases=(
        {"reward": [1.0, 0.0, 2.0, -1.0], "done": [False] * 4, "gamma": 0.5},
        {"reward": [4.0, 2.0, 8.0, 1.0, 3.0], "done": [False, False, True, False, False], "gamma": 0.9},
        {"reward": [1.0, 1.0, 1.0, 1.0], "done": [False, True, False, True], "gamma": 0.99},
    ),
    mistakes={
        "this is the deviation of the rewards. The value net has to predict sums, so take the deviation of R.": (
            lambda r, d, g: _spreads(r)
        ),
        "R runs on past the end of an episode. It starts from 0 in the next one.": (
            lambda r, d, g: _spreads(_sums(r, [False] * len(d), g))
        ),
        "this sums what comes after a step, which isn't known yet when the reward is divided. R looks back.": _ahead,
        "this is one number for all steps. σ at step t knows only R₁ to R_t.": (
            lambda r, d, g: [float(np.std(_sums(r, d, g)))] * len(r)
        ),
        "an episode's last reward belongs to its sum. Note R first, then set it to 0.": (
            lambda r, d, g: _spreads([total * (not end) for total, end in zip(_sums(r, d, g), d, strict=True)])
        ),
        "a standard deviation is taken around the mean; this is the root of the mean square.": (
            lambda r, d, g: [float(np.square(_sums(r, d, g)[: t + 1]).mean() ** 0.5) for t in range(len(r))]
        ),
        "only the sum starts anew with an episode. Its statistics cover everything so far.": _anew,
        "this divides by n − 1, so a single sum has no deviation. Divide by n, as np.std does.": _unbiased_spreads,
    },
    drawn=lambda d: {"reward": d.tensor(6).tolist(), "done": d.flags(6).tolist(), "gamma": d.number(0.5, 0.99)},
)
