"""bootstrap: what lies beyond a cut is worth V of the state that the cut left behind."""

import torch
from torch import Tensor

from tricks.core.returns import reward_to_go


def beyond(cut: Tensor, next_value: Tensor, done: Tensor, gamma: float) -> Tensor:
    """γᵏ·V(s_c) for the cut, k steps on, that a row's return runs into; 0 if it runs into none. All [S, T, N].

    The return is linear in the rewards, so this is the reward-to-go of γ·V(sₜ₊₁) paid at each cut.
    Pardo et al. 2018, arXiv:1712.00378, sec. 3.
    """
    return reward_to_go(torch.where(cut, gamma * next_value, 0), done, gamma)
