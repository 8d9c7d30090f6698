"""REINFORCE's own return: what an action was followed by."""

import torch
from torch import Tensor


def reward_to_go(reward: Tensor, done: Tensor, gamma: float) -> Tensor:
    """Gₜ = rₜ + γ(1 − doneₜ)·Gₜ₊₁. reward, done [S, T, N] -> [S, T, N]. Williams 1992, 10.1007/BF00992696."""
    going = gamma * (~done).to(reward)
    returns, following = torch.empty_like(reward), torch.zeros_like(reward[:, 0])
    for t in reversed(range(reward.shape[1])):
        following = reward[:, t] + going[:, t] * following
        returns[:, t] = following
    return returns
