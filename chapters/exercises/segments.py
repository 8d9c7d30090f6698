"""Exercises of the chapter on segments."""

from dataclasses import replace

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.core.rollout import Player, Policy, Rollout


def play_rows(player: Player, policy: Policy, length: int, active: Tensor) -> Rollout:
    """`length` rows of every lane of the active seeds [S]."""
    playing = active.unsqueeze(1).expand(-1, player.env.lanes)
    for _ in range(length):
        player.step(policy, playing)
    rollout = player.rollout()
    return replace(rollout, valid=playing.unsqueeze(1).expand_as(rollout.valid))


def _right(reward: Tensor, done: Tensor, last_value: float, gamma: float) -> Tensor:
    following, targets = torch.tensor(last_value), []
    for now, ended in zip(reversed(reward), reversed(done), strict=True):
        following = now + gamma * (torch.tensor(0.0) if ended else following)
        targets.append(following)
    return torch.stack(targets[::-1])


def _always_cut(reward: Tensor, done: Tensor, last_value: float, gamma: float) -> Tensor:
    paid = reward.clone()
    paid[-1] = paid[-1] + gamma * last_value
    return _right(paid, done, 0.0, gamma)


def _last_reward_lost(reward: Tensor, done: Tensor, last_value: float, gamma: float) -> Tensor:
    paid = reward.clone()
    paid[-1] = paid[-1] if done[-1] else last_value
    return _right(paid, done, 0.0, gamma)


check_targets = Exercise(
    _right,
    cases=(
        {
            "reward": torch.tensor([1.0, 2.0, 1.0, 1.0]),
            "done": torch.tensor([False, True, False, False]),
            "last_value": 6.0,
            "gamma": 0.5,
        },
        {
            "reward": torch.tensor([1.0, 1.0, 3.0]),
            "done": torch.tensor([False, False, True]),
            "last_value": 6.0,
            "gamma": 0.5,
        },
        {"reward": torch.tensor([0.0, 1.0]), "done": torch.tensor([False, False]), "last_value": 10.0, "gamma": 0.9},
    ),
    mistakes={
        "the targets are in reverse order: you looped from the back, so reverse the list at the end.": (
            lambda r, d, v, g: _right(r, d, v, g).flip(0)
        ),
        "the cut is treated as an end, so what comes after it counts as 0. But it is unseen, not worthless.": (
            lambda r, d, v, g: _right(r, d, 0.0, g)
        ),
        "V(s_T) is one step after the last row, so multiply it by γ there.": (
            lambda r, d, v, g: _right(r, d, v / g, g)
        ),
        "V(s_T) is added although the last row ended its episode. Nothing comes after that.": _always_cut,
        "the cut is one step off: check whether a step is done *before* you add what follows it.": (
            lambda r, d, v, g: _right(r, torch.cat([d[1:], torch.tensor([False])]), v, g)
        ),
        "the returns run on across the end of an episode. Nothing follows a step that is done.": (
            lambda r, d, v, g: _right(r, torch.zeros_like(d), v, g)
        ),
        "V(s_T) replaces the last reward. But that reward was seen: it counts, and γ·V(s_T) is added to it.": (
            _last_reward_lost
        ),
    },
    drawn=lambda d: {
        "reward": d.tensor(6),
        "done": d.flags(6),
        "last_value": d.number(-9.0, 9.0),
        "gamma": d.number(0.5, 0.99),
    },
)
