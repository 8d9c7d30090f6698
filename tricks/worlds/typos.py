"""Typos: an answer that may be beyond repair, then as many words as one likes until the end.

A prompt is `a` or `b`. The reply is right, and pays 1, if its first token is the same; what follows changes nothing.
Half of the time, a typo replaces an answer by one of the two at random. In one world, the model sees the typo in its
reply; in the other, only who pays for the answer does. Demonstrations answer at random, and end with probability END_AT
after each token.

Why: an unbiased gradient leaves alone what pays nothing. But if each reply's tokens are averaged, every token of a
reply of n tokens gets the advantage divided by n: a wrong reply is punished less per token the longer it is, and a
right one is praised more the shorter it is (Liu et al. 2025, arXiv:2503.20783, sec. 3.1). Where the model sees whether
it is wrong, it can be long in one case and short in the other. Predicted, for such a mean: wrong replies become longer
than right ones; for one over all tokens, or a constant in place of n: they don't, though both may drift together. Nor
where typos are hidden, because no token tells the two cases apart before the end.
"""

import torch
from torch import Tensor

from tricks.worlds.replies import length, one_hot, replying
from tricks.worlds.world import World

LONGEST, TYPO, END_AT = 12, 0.5, 0.27
MORE, END = 2, 3
WORDS = ("a", "b", "more", "end")


def draw(chance: Tensor) -> Tensor:
    """`a` or `b`. [..., 1] -> the same."""
    return chance.round()


def mistyped(meant: Tensor, chance: Tensor) -> Tensor:
    """An answer, or the typo in its place."""
    typo = (chance[..., 0] < TYPO) & (meant < MORE)
    return torch.where(typo, chance[..., 1].round(), meant.float())


def demonstrate(state: Tensor) -> Tensor:
    """Either answer, then `more` until `end`."""
    answer, more, end = (one_hot(torch.full_like(state[..., 0], x), len(WORDS)) for x in (0, MORE, END))
    first = (answer + answer.roll(1, -1)) / 2
    return torch.where((length(state, 1) == 0).unsqueeze(-1), first, (1 - END_AT) * more + END_AT * end)


def typing(seen: bool) -> World:
    """The world in which the model sees its typos, or does not."""

    def say(state: Tensor, action: Tensor, chance: Tensor) -> Tensor:
        """A typo can only be in the first token."""
        return torch.where(length(state, 1) == 0, mistyped(action, chance), action) if seen else action

    def pay(state: Tensor, chance: Tensor) -> Tensor:
        """1 if the answer is that of the prompt. A typo that nobody sees may as well be drawn here."""
        answer = state[..., 1] if seen else mistyped(state[..., 1], chance)
        return (answer == state[..., 0]).float()

    id = "tricks/Typos-v0" if seen else "tricks/TyposUnseen-v0"
    return replying(
        id, WORDS, 1, LONGEST, draw=draw, pay=pay, demonstrate=demonstrate, say=say, end=END, step_chances=2
    )


TYPOS = tuple(typing(seen) for seen in (True, False))
