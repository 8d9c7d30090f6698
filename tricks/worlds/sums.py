"""Sums: a reply that works step by step is longer, rarer, and mostly right.

A prompt has DIGITS digits below BASE, and the reply is right if the last token before its end is their sum modulo BASE.
Only the end is paid: 1 if right. Demonstrations work step by step with probability `share`: `think`, then the partial
sums, each right with probability CARE, or else a guess. Otherwise they guess at once.

Why: let s be the share of replies that work step by step, and r and g how often these and guesses are right. The
probability of being right is s·r + (1 − s)·g, and its slope along the logit of s is s(1 − s)(r − g) > 0: long replies
spread because they pay, although nobody asks for them (DeepSeek-AI 2025, arXiv:2501.12948). With care c for each sum, a
chain of three is right with probability r = 1/5 + 4/5·c³ = .953. Predicted, from a model that imitates demonstrations
at s = .1: what is right rises from .275 to r, and the mean length from 2.3 to 5.
"""

import torch
from torch import Tensor

from tricks.worlds.replies import length, one_hot, replying, token
from tricks.worlds.world import World

DIGITS, LONGEST, BASE, CARE = 4, 7, 5, 0.98
END, THINK = BASE, BASE + 1
WORDS = (*map(str, range(BASE)), "end", "think")


def draw(chance: Tensor) -> Tensor:
    """The digits. [..., DIGITS] -> the same."""
    return (chance * BASE).floor()


def pay(state: Tensor, chance: Tensor) -> Tensor:
    """1 if the reply has ended, and its answer is the sum."""
    written = length(state, DIGITS)
    answer, last = (token(state, DIGITS + written - back) for back in (2, 1))
    return ((last == END) & (written > 1) & (answer == state[..., :DIGITS].sum(-1) % BASE)).float()


def demonstrating(share: float) -> World:
    """The world whose demonstrations work step by step in such a share of the replies."""

    def demonstrate(state: Tensor) -> Tensor:
        """Begin in one of two ways; then add digit after digit, or end."""
        written, first = length(state, DIGITS), state[..., DIGITS]
        guess, chosen = ((one_hot(torch.full_like(first, x), len(WORDS))) for x in (END, THINK))
        digits = 1 - guess - chosen
        before = torch.where(written == 1, state[..., 0], token(state, DIGITS + written - 1))
        step = one_hot((before + token(state, written)) % BASE, len(WORDS))
        step = CARE * step + (1 - CARE) / BASE * digits
        working = ((first == THINK) & (written < DIGITS)).unsqueeze(-1)
        begun = (written > 0).unsqueeze(-1)
        return torch.where(working, step, torch.where(begun, guess, share * chosen + (1 - share) / BASE * digits))

    id = "tricks/SumsShown-v0" if share == 1 else "tricks/Sums-v0"
    return replying(
        id, WORDS, DIGITS, LONGEST, draw=draw, pay=pay, demonstrate=demonstrate, end=END, reset_chances=DIGITS
    )


SUMS, SUMS_SHOWN = demonstrating(0.1), demonstrating(1.0)
