"""grad_clip: a gradient that is too long is shortened, its direction kept."""

from torch import Tensor


def shorten(gradient: Tensor, norm: Tensor, max_norm: float) -> Tensor:
    """g·min(1, max_norm/‖g‖), each seed by its own norm. gradient [S, P], norm [S] -> [S, P].

    Pascanu et al. 2012, arXiv:1211.5063, algorithm 1.
    """
    factor = (max_norm / (norm + 1e-6)).clamp(max=1)  # torch.nn.utils.clip_grad_norm_ adds the same 1e-6
    return gradient * factor.unsqueeze(1)
