"""Odds: prompts that are easy, even, and hard, by how often demonstrations answer them right: .95, .5, and .05.

A reply is `yes`, which pays 1, or `no`, which pays 0. In `OddsPlus10` both pay 10 more. In `Stakes`, `yes` pays 20 one
time in ten, and `no` always pays 1; the score, which the curve reports, is what each pays on average, 2 and 1.

Why: with success p, the slope of p along the logit of `yes` is p(1 − p), so a step of plain REINFORCE, whatever the
baseline, moves it by that: .0475, .25, .0475. Rewards that are divided by their deviation within a group of replies to
the same prompt, √(p(1 − p)), make that √(p(1 − p)): .218, .5, .218, so easy and hard prompts gain weight (Liu et al.
2025, arXiv:2503.20783, sec. 3.1). Predicted for gradient descent in large groups: next to even prompts, easy and hard
ones gain a factor of 2.3. In groups of eight, where most are all right or all wrong, it is 1.3; and Adam, which scales
each weight's gradient by its own size, leaves nothing to gain. For what pays 10 more: without a baseline, every word is
praised for ten points that it did nothing for, and the difference of one drowns in that noise. The group's mean takes
the ten points out. For stakes: most groups have no win, so `yes` looks worse than `no` in them. A win is twenty times
as large, but so is its group's σ, and after division it weighs little more than a group without one. So agents that
divide by σ learn the wrong word.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tricks.worlds.replies import replying
from tricks.worlds.world import World

RIGHT = 0.95, 0.5, 0.05
YES, NO, FIRST = 0, 1, 2  # prompts are the tokens from FIRST on


def draw(chance: Tensor) -> Tensor:
    """One of the prompts. [..., 1] -> the same."""
    return FIRST + (chance * len(RIGHT)).floor()


def pay(state: Tensor, chance: Tensor) -> Tensor:
    """1 for `yes`."""
    return (state[..., 1] == YES).float()


def demonstrate(state: Tensor) -> Tensor:
    """Right as often as the prompt says."""
    right = torch.zeros_like(state[..., 0])
    for k, probability in enumerate(RIGHT):
        right = torch.where(state[..., 0] == FIRST + k, probability, right)
    return torch.stack([right, 1 - right], -1)


def stakes(state: Tensor, chance: Tensor) -> Tensor:
    """A win of 20 for `yes`, one time in ten; 1 for `no`."""
    said_yes = state[..., 1] == YES
    return torch.where(said_yes, 20.0 * (chance[..., 0] < 0.1), 1.0)


def worth(state: Tensor, reward: Tensor) -> Tensor:
    """What the word pays on average: `no` is the one that pays 1."""
    return torch.where(reward == 1, 1.0, 2.0)


def asking(id: str, pay: Callable[[Tensor, Tensor], Tensor], **differences: Any) -> World:
    """The world in which replies to these prompts pay so much."""
    return replying(id, WORDS, 1, 1, draw=draw, pay=pay, demonstrate=demonstrate, actions=2, **differences)


WORDS = ("yes", "no", "easy", "even", "hard")
ODDS = asking("tricks/Odds-v0", pay)
ODDS_PLUS = asking("tricks/OddsPlus10-v0", lambda state, chance: pay(state, chance) + 10)
STAKES = asking("tricks/Stakes-v0", stakes, step_chances=1, score=worth)
