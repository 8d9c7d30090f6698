"""kl_stop: a batch's steps end, seed by seed, once the policy is too far from the one that played."""

from torch import Tensor

from tricks.config import PerSeed
from tricks.core.seeds import per_seed
from tricks.reuse import drift


def near_enough(ratio: Tensor, valid: Tensor, target_kl: PerSeed) -> Tensor:
    """approx_kl ≤ 1.5·target: whether a seed may take its step on this minibatch. ratio, valid [S, B] -> [S] bool.

    A KL that is NaN is not near. Achiam 2018, Spinning Up's ppo; Raffin et al. 2021, stable-baselines3's `target_kl`.
    """
    kl = drift(ratio, valid)["approx_kl"].double()
    return kl <= 1.5 * per_seed(target_kl, kl)
