"""gae: λ-weighted advantages, from the TD error (λ = 0) to the Monte Carlo return minus V (λ = 1)."""

import torch
from torch import Tensor

from tricks.config import Number
from tricks.core.numbers import per_seed
from tricks.core.returns import discounted_sum


def gae(
    reward: Tensor, value: Tensor, next_value: Tensor, terminated: Tensor, done: Tensor, gamma: Number, lam: Number
) -> Tensor:
    """Aₜ = δₜ + γλ(1 − doneₜ)·Aₜ₊₁,  δₜ = rₜ + γ(1 − terminatedₜ)·V(sₜ₊₁) − V(sₜ). All [S, T, N].

    Two masks: after a termination there is no more reward, so δ does not bootstrap; after any end, terminated or
    truncated, the next row belongs to another episode, so the recursion stops. V + A is the TD(λ) target.
    Schulman et al. 2015, arXiv:1506.02438, eq. 16.
    """
    delta = reward + per_seed(gamma, reward) * torch.where(terminated, 0, next_value) - value
    return discounted_sum(delta, per_seed(gamma, reward) * per_seed(lam, reward) * (~done).to(reward))
