"""Exercises of the chapter on seeds as an axis."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.core.agent import Agent
from tricks.core.moments import ReturnStats
from tricks.core.rollout import Rollout


def follow_targets_(agent: Agent, rollout: Rollout, target: Tensor, beta: float) -> tuple[ReturnStats, ReturnStats]:
    """Move the agent's statistics toward those of the targets [S, T, N]; returned as they were, and as they are now."""
    before = agent.return_stats.of(rollout.task)
    new = target[rollout.valid].double()
    between = beta * (1 - beta) * (new.mean() - before.mean).square()
    variance = (1 - beta) * before.variance + beta * new.var(correction=0) + between
    agent.return_stats = stats = ReturnStats((1 - beta) * before.mean + beta * new.mean(), variance, before.task)
    return before, stats


def _right(x: Tensor, valid: Tensor) -> Tensor:
    return (x * valid).sum(1) / valid.sum(1).clamp(min=1)


check_mean = Exercise(
    _right,
    cases=(
        {
            "x": torch.tensor([[1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0]]),
            "valid": torch.tensor([[True, True, False, True], [True, True, False, False]]),
        },
        {
            "x": torch.tensor([[5.0, 7.0], [1.0, 3.0], [2.0, 2.0]]),
            "valid": torch.tensor([[True, True], [False, False], [False, True]]),
        },
    ),
    mistakes={
        "this is the mean over seeds, one number per row of the batch. Reduce the last axis, and keep S.": (
            lambda x, valid: (x * valid).sum(0) / valid.sum(0).clamp(min=1)
        ),
        "this is one number for all seeds. Each seed needs its own, or they are no longer independent.": (
            lambda x, valid: (x * valid).sum() / valid.sum()
        ),
        "each seed's sum is divided by the number of all seeds' rows. Count within the seed.": (
            lambda x, valid: (x * valid).sum(1) / valid.sum()
        ),
        "rows that are not valid are padding. They must not count.": lambda x, valid: x.mean(1),
        "the sum is right, but it is divided by the number of all rows, padding included.": (
            lambda x, valid: (x * valid).mean(1)
        ),
        "a seed without valid rows gives 0/0, which is NaN. It should give 0.": (
            lambda x, valid: (x * valid).sum(1) / valid.sum(1)
        ),
        "the axis of rows is still there, with length 1. The loss is one number per seed: [S].": (
            lambda x, valid: _right(x, valid).unsqueeze(1)
        ),
    },
    drawn=lambda d: {"x": d.tensor(3, 5), "valid": d.flags(3, 5, share=0.5)},
    gradients=("x",),
)
