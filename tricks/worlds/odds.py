"""Odds: prompts that are easy, even, and hard, by how often demonstrations answer them right: .95, .5, and .05.

A reply is `yes`, which pays 1, or `no`, which pays 0.

Why: with success p, the slope of p along the logit of `yes` is p(1 − p), so a step of plain REINFORCE, whatever the
baseline, moves it by that: .0475, .25, .0475. Rewards that are divided by their deviation within a group of replies to
the same prompt, √(p(1 − p)), make that √(p(1 − p)): .218, .5, .218, so easy and hard prompts gain weight (Liu et al.
2025, arXiv:2503.20783, sec. 3.1). Predicted for gradient descent in large groups: next to even prompts, easy and hard
ones gain a factor of 2.3. In groups of eight, where most are all right or all wrong, it is 1.3; and Adam, which scales
each weight's gradient by its own size, leaves nothing to gain.
"""

import torch
from torch import Tensor

from tricks.worlds.replies import replying

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


WORDS = ("yes", "no", "easy", "even", "hard")
ODDS = replying("tricks/Odds-v0", WORDS, 1, 1, draw=draw, pay=pay, demonstrate=demonstrate, actions=2)
