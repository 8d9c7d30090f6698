"""entropy: a bonus for staying random, so that the policy does not commit too early."""

from torch import Tensor

from tricks.config import PerSeed
from tricks.core.reductions import mean
from tricks.core.seeds import per_seed


def entropy_bonus(entropy: Tensor, valid: Tensor, coef: PerSeed) -> Tensor:
    """c₂·mean(H(π(·|s))), to be maximized. entropy [S, B] in nats -> [S]. Mnih et al. 2016, arXiv:1602.01783."""
    return mean(per_seed(coef, entropy) * entropy, valid)
