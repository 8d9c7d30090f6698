"""grad_clip: a gradient that is too long is shortened, its direction kept."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


@torch.no_grad()
def shorten_(parameters: Iterable[nn.Parameter], norm: Tensor, max_norm: float) -> None:
    """g ← g·min(1, max_norm/‖g‖), in place, for each seed by its own norm [S]. Pascanu et al. 2012, algorithm 1."""
    factor = (max_norm / (norm + 1e-6)).clamp(max=1)  # torch.nn.utils.clip_grad_norm_ adds the same 1e-6
    for p in parameters:
        if p.grad is not None:
            p.grad.mul_(factor.to(p.dtype).view(-1, *(1,) * (p.dim() - 1)))
