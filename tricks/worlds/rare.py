"""Rare: one token of COUNT pays, and at first none is likelier than another.

Why: PPO's clip lets a ratio grow to 1 + ε in one batch and no further, so a token of probability p gets ε·p at most,
which is little if p is: .005 can become .006, and it takes 26 batches at ε = .2 from there to ½. A token that is likely
is hardly held back. A higher upper limit leaves room where the probability is low (Yu et al. 2025, arXiv:2503.14476,
sec. 3.1). Predicted, for several epochs of each batch: the higher the upper limit, the fewer updates until the right
token is likelier than not.
"""

import torch
from torch import Tensor

from tricks.worlds.replies import replying

COUNT, RIGHT = 200, 0


def draw(chance: Tensor) -> Tensor:
    """The only prompt there is. [..., 1] -> the same."""
    return torch.full_like(chance, COUNT)


def pay(state: Tensor, chance: Tensor) -> Tensor:
    """1 for the right token."""
    return (state[..., 1] == RIGHT).float()


def demonstrate(state: Tensor) -> Tensor:
    """Any token."""
    return state.new_full((*state.shape[:-1], COUNT), 1 / COUNT)


WORDS = (*map(str, range(COUNT)), "?")
RARE = replying("tricks/Rare-v0", WORDS, 1, 1, draw=draw, pay=pay, demonstrate=demonstrate, actions=COUNT)
