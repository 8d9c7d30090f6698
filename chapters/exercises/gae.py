"""Exercises of the chapter on generalized advantage estimation."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.core.reductions import discounted_sum
from tricks.gae import gae


def surprising_advantages(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: float, lam: float
) -> Tensor:
    """Aₜ = δₜ + γλ(1 − doneₜ)·Aₜ₊₁. All [S, T, N]."""
    delta = reward + gamma * next_value - value
    return discounted_sum(delta, gamma * lam * (~done).to(reward))


def one_mask(reward: Tensor, value: Tensor, next_value: Tensor, end: Tensor, gamma: float, decay: float) -> Tensor:
    """A version for one lane [T] with the same mask in both places. decay: the factor in the recursion."""
    going = 1 - end.to(reward)
    delta = reward + gamma * going * next_value - value
    return discounted_sum(delta.view(1, -1, 1), decay * going.view(1, -1, 1)).flatten()


def _right(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: float, lam: float
) -> Tensor:
    r, v, n, dead, end = (x.view(1, -1, 1) for x in (reward, value, next_value, terminated, done))
    return gae(r, v, n, dead, end, gamma, lam).flatten()


check_advantages = Exercise(
    _right,
    cases=(
        {
            "reward": torch.tensor([2.0, 2.0, 2.0, 2.0, 18.0]),
            "value": torch.full((5,), 4.0),
            "next_value": torch.full((5,), 4.0),
            "terminated": torch.tensor([False, True, False, False, False]),
            "done": torch.tensor([False, True, False, True, False]),
            "gamma": 0.5,
            "lam": 0.5,
        },
        {
            "reward": torch.tensor([1.0, -1.0, 0.0]),
            "value": torch.tensor([2.0, 3.0, 1.0]),
            "next_value": torch.tensor([3.0, 1.0, 6.0]),
            "terminated": torch.tensor([False, False, True]),
            "done": torch.tensor([False, False, True]),
            "gamma": 0.9,
            "lam": 0.8,
        },
        {
            "reward": torch.tensor([1.0]),
            "value": torch.tensor([5.0]),
            "next_value": torch.tensor([10.0]),
            "terminated": torch.tensor([False]),
            "done": torch.tensor([True]),
            "gamma": 0.99,
            "lam": 0.95,
        },
    ),
    mistakes={
        "a time limit is treated as a death: δ must bootstrap there, so use terminated, not done, in δ.": (
            lambda r, v, n, dead, done, gamma, lam: _right(r, v, n, done, done, gamma, lam)
        ),
        "the recursion runs across a time limit into another episode: there, use done, not terminated.": (
            lambda r, v, n, dead, done, gamma, lam: _right(r, v, n, dead, dead, gamma, lam)
        ),
        "δ bootstraps past a death: where the episode terminated, next_value does not count.": (
            lambda r, v, n, dead, done, gamma, lam: _right(r, v, n, done & False, done, gamma, lam)
        ),
        "the two masks are swapped: terminated belongs to δ, done to the recursion.": (
            lambda r, v, n, dead, done, gamma, lam: _right(r, v, n, done, dead, gamma, lam)
        ),
        "no mask at all: both δ and the recursion run on across every end.": (
            lambda r, v, n, dead, done, gamma, lam: _right(r, v, n, done & False, done & False, gamma, lam)
        ),
        "this is V + A, the target of the value net; the advantage is A alone.": (
            lambda r, v, n, dead, done, gamma, lam: v + _right(r, v, n, dead, done, gamma, lam)
        ),
        "λ is missing: these are Monte Carlo advantages. Each step back multiplies by γλ, not by γ.": (
            lambda r, v, n, dead, done, gamma, lam: _right(r, v, n, dead, done, gamma, 1.0)
        ),
        "γ is missing from the recursion: each step back multiplies by γλ, not by λ.": (
            lambda r, v, n, dead, done, gamma, lam: _right(r, v, n, dead, done, gamma, lam / gamma)
        ),
        "these are only the δs. Each row adds γλ times the advantage of the row after it: start at the end.": (
            lambda r, v, n, dead, done, gamma, lam: _right(r, v, n, dead, done, gamma, 0.0)
        ),
    },
    drawn=lambda d: {
        "reward": d.tensor(6),
        "value": d.tensor(6),
        "next_value": d.tensor(6),
        "terminated": (dead := d.flags(6)),
        "done": dead | d.flags(6),
        "gamma": d.number(0.5, 0.99),
        "lam": d.number(0.5, 0.99),
    },
)
