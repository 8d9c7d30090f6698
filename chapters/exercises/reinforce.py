"""Exercises of the chapter on REINFORCE."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise


def returns_backward(reward: Tensor, done: Tensor, gamma: float) -> Tensor:
    """Gₜ = rₜ + γ·Gₜ₊₁. reward, done [S, T, N] -> [S, T, N]."""
    returns, following = torch.empty_like(reward), torch.zeros_like(reward[:, 0])
    for t in reversed(range(reward.shape[1])):
        following = reward[:, t] + gamma * following
        returns[:, t] = following
    return returns


def _right(reward: Tensor, done: Tensor, gamma: float) -> Tensor:
    following, returns = 0.0, []
    for now, ended in zip(reversed(reward), reversed(done), strict=True):
        following = now + gamma * (0.0 if ended else following)
        returns.append(following)
    return torch.stack(returns[::-1])


def _forward(reward: Tensor, done: Tensor, gamma: float) -> Tensor:
    following, returns = torch.tensor(0.0), []
    for now, ended in zip(reward, done, strict=True):
        following = now + gamma * following
        returns.append(following)
        following = torch.tensor(0.0) if ended else following
    return torch.stack(returns)


check_returns = Exercise(
    _right,
    cases=(
        {"reward": torch.tensor([1.0, 2.0, 3.0, 10.0]), "done": torch.tensor([False, False, True, True]), "gamma": 0.5},
        {"reward": torch.tensor([0.0, 0.0, 1.0]), "done": torch.tensor([False, False, True]), "gamma": 0.9},
        {"reward": torch.tensor([4.0]), "done": torch.tensor([False]), "gamma": 0.99},
    ),
    mistakes={
        "the returns run on across the end of an episode. After a step that is done, nothing follows.": (
            lambda reward, done, gamma: returns_backward(reward.view(1, -1, 1), done.view(1, -1, 1), gamma).flatten()
        ),
        "the last reward of an episode counts, too: done says that nothing follows *after* this step.": (
            lambda reward, done, gamma: _right(torch.where(done, 0.0, reward), done, gamma)
        ),
        "the numbers are right, but in the wrong order: you went backward, so reverse the list.": (
            lambda reward, done, gamma: _right(reward, done, gamma).flip(0)
        ),
        "the cut is one step off: check whether a step is done *before* you add what follows it.": (
            lambda reward, done, gamma: _right(reward, torch.cat([done[1:], torch.tensor([False])]), gamma)
        ),
        "the discount is missing: multiply what follows by γ.": lambda reward, done, gamma: _right(reward, done, 1.0),
        "these are sums of the past. An action is responsible for what comes after it: begin at the end.": _forward,
    },
    drawn=lambda d: {"reward": d.tensor(7), "done": d.flags(7), "gamma": d.number(0.5, 0.99)},
)
