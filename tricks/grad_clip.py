"""grad_clip: a gradient whose norm is too large is scaled down; its direction stays the same."""

from torch import Tensor

from tricks.config import PerSeed
from tricks.core.seeds import per_seed


def shorten(gradient: Tensor, norm: Tensor, max_norm: PerSeed) -> Tensor:
    """g·min(1, max_norm/‖g‖), with each seed's own norm. gradient [S, P], norm [S] -> [S, P].

    Pascanu et al. 2012, arXiv:1211.5063, algorithm 1; the 1e-6 is that of torch.nn.utils.clip_grad_norm_.
    """
    return gradient * ((norm + 1e-6).reciprocal() * per_seed(max_norm, norm)).clamp(max=1).unsqueeze(1)
