"""The layers of S independent nets at once: x [S, B, in], weight [S, in, out], bias [S, 1, out] -> [S, B, out]."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def tanh_layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """tanh(xW + b), with bias [S, 1, out]."""
    return torch.baddbmm(bias, x, weight).tanh()


def relu_layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """max(0, xW + b), with bias [S, 1, out]."""
    return torch.baddbmm(bias, x, weight).relu_()


def dense(x: Tensor, layers: Sequence[tuple[Tensor, Tensor]], tanh: bool) -> Tensor:
    """Layers with tanh or ReLU, one after the other."""
    for weight, bias in layers:
        x = tanh_layer(x, weight, bias) if tanh else relu_layer(x, weight, bias)
    return x


def affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """xW + b."""
    return torch.bmm(x, weight) + bias


def over_time(cell: Any, given: Tensor, goes_on: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """hₜ, the states' first H numbers, for all rows, [S, T, L, H], and the states after the last, [S, L, K].

    given [S, T, L, G·H]: what the features contribute. goes_on [S, T, L, 1] bool: where it is False, the state that the
    next row begins with is zero. cell: given and state of a row -> the next state.
    """
    rows = []
    for contribution, stays in zip(given.unbind(1), goes_on.unbind(1), strict=True):
        state = cell(contribution, state)
        rows.append(state)
        state = state.masked_fill(~stays, 0)  # also if it is not finite
    return torch.stack(rows, 1)[..., : cell.size], state
