"""Large batches in passes of a few rows."""

from collections.abc import Callable

import torch
from torch import Tensor

CACHED, FEWEST = 200_000, 64  # features, and rows, of one pass without gradients: what stays in a cache of 1 MB


def in_passes(net: Callable[[Tensor], Tensor], x: Tensor, width: int) -> Tensor:
    """net(x); without gradients, so many rows at a time that their features, `width` a row, stay in the cache."""
    rows = max(FEWEST, CACHED // (len(x) * width))
    if torch.is_grad_enabled() or x.shape[1] <= rows:
        return net(x)
    return torch.cat([net(some) for some in x.split(rows, 1)], 1)
