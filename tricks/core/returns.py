"""REINFORCE's own return: what an action was followed by."""

import torch
from torch import Tensor


def reward_to_go(reward: Tensor, done: Tensor, gamma: float) -> Tensor:
    """Gₜ = rₜ + γ(1 − doneₜ)·Gₜ₊₁. reward, done [S, T, N] -> [S, T, N]. Williams 1992, 10.1007/BF00992696."""
    return discounted_sum(reward, gamma * (~done).to(reward))


def discounted_sum(x: Tensor, discount: Tensor) -> Tensor:
    """yₜ = xₜ + discountₜ·yₜ₊₁, from the last step back, where y is 0 beyond it. x, discount [S, T, N] -> [S, T, N]."""
    following, sums = torch.zeros_like(x[:, 0]), []
    for now, going in zip(reversed(x.unbind(1)), reversed(discount.unbind(1)), strict=True):
        following = torch.addcmul(now, going, following)
        sums.append(following)
    return torch.stack(sums[::-1], 1)
