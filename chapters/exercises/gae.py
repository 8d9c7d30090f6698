"""Exercises of the chapter on generalized advantage estimation."""

import torch
from torch import Tensor

from book.exercise import Exercise
from tricks.core.returns import discounted_sum


def surprising_advantages(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: float, lam: float
) -> Tensor:
    """Aₜ = δₜ + γλ(1 − doneₜ)·Aₜ₊₁. All [S, T, N]."""
    delta = reward + gamma * next_value - value
    return discounted_sum(delta, gamma * lam * (~done).to(reward))


def one_mask(
    reward: Tensor, value: Tensor, next_value: Tensor, end: Tensor, gamma: float, decay: float, masked: bool = True
) -> Tensor:
    """A version for one lane [T] that asks the same mask in both places. decay: what the recursion multiplies with."""
    going = 1 - end.to(reward)
    delta = reward + gamma * (going if masked else 1) * next_value - value
    return discounted_sum(delta.view(1, -1, 1), decay * going.view(1, -1, 1)).flatten()


def _right(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: float, lam: float
) -> Tensor:
    following, advantages = torch.tensor(0.0), []
    for t in reversed(range(len(reward))):
        ahead = 0.0 if terminated[t] else gamma * next_value[t]
        later = 0.0 if done[t] else gamma * lam * following
        following = reward[t] + ahead - value[t] + later
        advantages.append(following)
    return torch.stack(advantages[::-1])


def _done_twice(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: float, lam: float
) -> Tensor:
    return one_mask(reward, value, next_value, done, gamma, gamma * lam)


def _terminated_twice(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: float, lam: float
) -> Tensor:
    return one_mask(reward, value, next_value, terminated, gamma, gamma * lam)


def _past_death(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: float, lam: float
) -> Tensor:
    return one_mask(reward, value, next_value, done, gamma, gamma * lam, masked=False)


def _without_lambda(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: float, lam: float
) -> Tensor:
    return _right(reward, value, next_value, terminated, done, gamma, 1.0)


def _without_gamma(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: float, lam: float
) -> Tensor:
    return _right(reward, value, next_value, terminated, done, gamma, lam / gamma)


def _one_step(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: float, lam: float
) -> Tensor:
    return _right(reward, value, next_value, terminated, done, gamma, 0.0)


def _swapped(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: float, lam: float
) -> Tensor:
    return _right(reward, value, next_value, done, terminated, gamma, lam)


def _no_mask(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: float, lam: float
) -> Tensor:
    never = torch.zeros_like(done)
    return _right(reward, value, next_value, never, never, gamma, lam)


def _targets(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: float, lam: float
) -> Tensor:
    return value + _right(reward, value, next_value, terminated, done, gamma, lam)


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
        "a time limit is treated as a death: δ must bootstrap there, so ask terminated, not done, in δ.": _done_twice,
        "the recursion runs on across a time limit, into another episode: there, ask done, not terminated.": (
            _terminated_twice
        ),
        "δ bootstraps past a death: where the episode terminated, next_value does not count.": _past_death,
        "the two masks are swapped: terminated belongs to δ, done to the recursion.": _swapped,
        "no mask at all: both δ and the recursion run on across every end.": _no_mask,
        "this is V + A, the target of the value net; the advantage is A alone.": _targets,
        "λ is missing: these are Monte Carlo advantages. A later δ counts γλ times, not γ times.": _without_lambda,
        "γ is missing in the recursion: a later δ counts γλ times as much, not λ times.": _without_gamma,
        "these are the δ alone. Each row adds γλ times the advantage of the row after it: begin at the end.": _one_step,
    },
)
