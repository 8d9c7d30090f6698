"""Reductions within a seed: the mean over valid rows, and sums of what follows a row."""

import torch
from torch import Tensor

from tricks.config import PerSeed
from tricks.core.seeds import per_seed
from tricks.fast.dispatch import faster


@faster("tricks.fast.rows")
def mean(x: Tensor, valid: Tensor) -> Tensor:
    """Mean over the valid rows of each seed. x, valid [S, B] -> [S]; 0 for a seed without valid rows.

    Nothing in the other rows matters, not even ∞.
    """
    weight = valid.to(x.dtype if x.is_floating_point() else torch.float32)
    return torch.where(valid.bool(), x, 0).sum(1) / weight.sum(1).clamp(min=1)


def reward_to_go(reward: Tensor, done: Tensor, gamma: PerSeed) -> Tensor:
    """Gₜ = rₜ + γ(1 − doneₜ)·Gₜ₊₁. reward, done [S, T, N] -> [S, T, N]. Williams 1992, 10.1007/BF00992696."""
    return discounted_sum(reward, per_seed(gamma, reward) * (~done).to(reward))


@faster("tricks.fast.rows")
def discounted_sum(x: Tensor, discount: Tensor) -> Tensor:
    """yₜ = xₜ + discountₜ·yₜ₊₁, backward in time, with y = 0 past the end. x, discount [S, T, N] -> [S, T, N]."""
    following, sums = torch.zeros_like(x[:, 0]), []
    for now, going in zip(reversed(x.unbind(1)), reversed(discount.unbind(1)), strict=True):
        following = torch.addcmul(now, going, following)
        sums.append(following)
    return torch.stack(sums[::-1], 1)


def sum_over_reply(x: Tensor, reply: Tensor, valid: Tensor, replies: int) -> Tensor:
    """At each row, the sum of x over the valid rows of its reply, one of `replies` numbers. [S, B] each -> [S, B]."""
    sums = x.new_zeros(len(x), replies).scatter_add(1, reply, torch.where(valid, x, 0))
    return sums.gather(1, reply)
