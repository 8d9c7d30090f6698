"""The layers of S independent nets at once: x [S, B, in], weight [S, in, out], bias [S, 1, out] -> [S, B, out]."""

import torch
from torch import Tensor


def tanh_layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """tanh(xW + b), with bias [S, 1, out]."""
    return torch.baddbmm(bias, x, weight).tanh()


def relu_layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """max(0, xW + b), with bias [S, 1, out]."""
    return torch.baddbmm(bias, x, weight).relu_()


def product(x: Tensor, weight: Tensor) -> Tensor:
    """xW."""
    return torch.bmm(x, weight)
