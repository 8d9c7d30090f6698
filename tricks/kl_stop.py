"""kl_stop: a batch's steps end, seed by seed, once the policy is too far from the one that played."""

import torch
from torch import Tensor

from tricks.config import PerSeed
from tricks.core.per_seed import per_seed
from tricks.reuse import drift

OF_POLICY = (  # the diagnostics of the policy's own steps
    *("policy_loss", "entropy", "grad_norm", "approx_kl", "max_ratio"),
    *("clip_fraction", "clip_range", "bounded_fraction", "steps_taken", "policy_age"),
)


def near_enough(ratio: Tensor, valid: Tensor, target_kl: PerSeed) -> Tensor:
    """approx_kl ≤ 1.5·target: whether a seed may take its step on this minibatch. ratio, valid [S, B] -> [S] bool.

    A KL that is NaN is not near. Achiam 2018, Spinning Up's ppo; Raffin et al. 2021, stable-baselines3's `target_kl`.
    """
    kl = drift(ratio, valid)["approx_kl"].double()
    return kl <= 1.5 * per_seed(target_kl, kl)


def reached(taken: Tensor) -> Tensor:
    """Which minibatches a seed saw before it stood still: those up to and including the one that stopped it.

    The curve's diagnostics of the policy are over these. taken [M, S]: 1 where a seed took a minibatch's step -> bool.
    """
    return torch.cat([torch.ones_like(taken[:1]), taken[:-1]]) > 0
