"""bootstrap: at a cut, V of the last state stands in for the rewards that were not collected."""

from dataclasses import replace

import torch
from torch import Tensor

from tricks.config import PerSeed
from tricks.core.reductions import reward_to_go
from tricks.core.rollout import Rollout
from tricks.core.seeds import per_seed


def time_limits_as_cuts(rollout: Rollout) -> Rollout:
    """The rollout, with `cut` also where a time limit ended the episode, because it would have gone on.

    Pardo et al. 2018, arXiv:1712.00378, sec. 3.
    """
    return replace(rollout, cut=rollout.cut | rollout.truncated)


def value_at_cut(cut: Tensor, next_value: Tensor, done: Tensor, gamma: PerSeed) -> Tensor:
    """γᵏ·V(s_c), with s_c the state k steps ahead where the row's episode is cut; 0 if it isn't. All [S, T, N].

    Returns are linear in the rewards, so this is the reward-to-go of a reward γ·V(sₜ₊₁) paid at each cut.
    Pardo et al. 2018, arXiv:1712.00378, sec. 3.
    """
    return reward_to_go(torch.where(cut, per_seed(gamma, next_value) * next_value, 0), done, gamma)
