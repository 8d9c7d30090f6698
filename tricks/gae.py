"""gae: λ-weighted advantages, from the TD error (λ = 0) to the Monte Carlo return minus V (λ = 1)."""

import torch
from torch import Tensor

from tricks.config import PerSeed
from tricks.core.reductions import discounted_sum
from tricks.core.seeds import per_seed


def gae(
    reward: Tensor, value: Tensor, next_value: Tensor, dead: Tensor, done: Tensor, gamma: PerSeed, lam: PerSeed
) -> Tensor:
    """Aₜ = δₜ + γλ(1 − doneₜ)·Aₜ₊₁,  δₜ = rₜ + γ(1 − deadₜ)·V(sₜ₊₁) − V(sₜ). All [S, T, N].

    Two masks. `dead`: no value lies beyond the row, because the episode terminated there, or because its time limit
    counts as an end; so δ does not bootstrap. `done`: the next row belongs to another episode, so the recursion stops.
    V + A is the TD(λ) target.
    Schulman et al. 2015, arXiv:1506.02438, eq. 16.
    """
    delta = reward + per_seed(gamma, reward) * torch.where(dead, 0, next_value) - value
    return discounted_sum(delta, per_seed(gamma, reward) * per_seed(lam, reward) * (~done).to(reward))
