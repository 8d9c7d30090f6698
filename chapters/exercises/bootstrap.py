"""Exercises of the chapter on bootstrapping at a time limit."""

from dataclasses import replace

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.core.rollout import Player, Policy, Rollout
from tricks.segments import play_segment


def play_same_step(player: Player, policy: Policy, length: int, active: Tensor) -> Rollout:
    """A segment, as code for an older Gymnasium recorded it."""
    rollout = play_segment(player, policy, length, active)
    done = (rollout.terminated | rollout.truncated).unsqueeze(-1)
    later = torch.cat([rollout.obs[:, 2:], rollout.obs[:, -1:]], 1)
    returned = torch.where(done, later, rollout.obs[:, 1:])
    return replace(rollout, obs=torch.cat([rollout.obs[:, :1], returned], 1))


def _right(reward: Tensor, terminated: Tensor, truncated: Tensor, next_value: Tensor, gamma: float) -> Tensor:
    following, targets = next_value[-1], []
    for t in reversed(range(len(reward))):
        if truncated[t]:
            following = next_value[t]
        if terminated[t]:
            following = torch.tensor(0.0)
        following = reward[t] + gamma * following
        targets.append(following)
    return torch.stack(targets[::-1])


def _flags(*at: int) -> Tensor:
    return torch.tensor([t in at for t in range(4)])


def _last_row_an_end(reward: Tensor, terminated: Tensor, truncated: Tensor, next_value: Tensor, gamma: float) -> Tensor:
    ended = terminated | truncated
    last = torch.arange(len(reward)) == len(reward) - 1
    return _right(reward, terminated | (last & ~ended), truncated, next_value, gamma)


def _reset_late(reward: Tensor, terminated: Tensor, truncated: Tensor, next_value: Tensor, gamma: float) -> Tensor:
    died, cut = (torch.cat([flags[1:], torch.tensor([False])]) for flags in (terminated, truncated))
    return _right(reward, died, cut, torch.cat([next_value[1:], next_value[-1:]]), gamma)


check_targets = Exercise(
    _right,
    cases=(
        {
            "reward": torch.ones(4),
            "terminated": _flags(3),
            "truncated": _flags(1),
            "next_value": torch.tensor([5.0, 6.0, 7.0, 8.0]),
            "gamma": 0.5,
        },
        {
            "reward": torch.tensor([1.0, 2.0, 3.0, 4.0]),
            "terminated": _flags(1),
            "truncated": _flags(1, 2),
            "next_value": torch.tensor([5.0, 6.0, 7.0, 8.0]),
            "gamma": 0.5,
        },
        {
            "reward": torch.ones(4),
            "terminated": _flags(),
            "truncated": _flags(0, 2),
            "next_value": torch.tensor([10.0, 20.0, 30.0, 40.0]),
            "gamma": 0.9,
        },
    ),
    mistakes={
        "at a time limit, this counts the future as 0. But it was cut off, not lost: use V of the last state.": (
            lambda r, dead, cut, v, g: _right(r, dead | cut, cut, v, g)
        ),
        "this adds V of the last state after a death, but nothing comes after a death.": (
            lambda r, dead, cut, v, g: _right(r, torch.zeros_like(dead), dead | cut, v, g)
        ),
        "the last row is a cut, too, unless its episode ended there: begin with next_value[-1].": _last_row_an_end,
        "the cut is one step off: check for a cut or an end *before* you add what follows the row.": _reset_late,
        "V(s′) is one step later, so multiply it by γ.": lambda r, dead, cut, v, g: _right(r, dead, cut, v / g, g),
        "this is the TD target; the return uses V only at a cut.": (
            lambda r, dead, cut, v, g: r + g * torch.where(dead, 0.0, v)
        ),
        "this adds V in a row with both flags. But a death on the time limit is still a death.": (
            lambda r, dead, cut, v, g: _right(r, dead & ~cut, cut, v, g)
        ),
        "the time limit is ignored, so what the next episode earns counts toward this one.": (
            lambda r, dead, cut, v, g: _right(r, dead, torch.zeros_like(cut), v, g)
        ),
        "the value at a time limit is the next row's. That row is another episode; next_value[t] belongs to row t.": (
            lambda r, dead, cut, v, g: _right(r, dead, cut, torch.cat([v[1:], v[-1:]]), g)
        ),
    },
    drawn=lambda d: {
        "reward": d.tensor(6),
        "terminated": d.flags(6),
        "truncated": d.flags(6),
        "next_value": d.tensor(6, low=-9.0, high=9.0),
        "gamma": d.number(0.5, 0.99),
    },
)
