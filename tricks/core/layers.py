"""The layers of S independent nets at once: x [S, B, in], weight [S, in, out], bias [S, 1, out] -> [S, B, out]."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tricks.fast.dispatch import faster


@faster("tricks.fast.dense")
def dense(x: Tensor, layers: Sequence[tuple[Tensor, Tensor]], tanh: bool) -> Tensor:
    """tanh(xW + b) or max(0, xW + b), layer after layer."""
    for weight, bias in layers:
        x = torch.baddbmm(bias, x, weight)
        x = x.tanh() if tanh else x.relu()
    return x


@faster("tricks.fast.dense")
def affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """xW + b."""
    return torch.bmm(x, weight) + bias


def over_time(cell: Any, given: Tensor, goes_on: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """hₜ, the states' first H numbers, for all rows, [S, T, L, H], and the states after the last, [S, L, K].

    given [S, T, L, G·H]: what features contribute. goes_on [S, T, L, 1] bool: False where the next row's state is zero.
    """
    rows = []
    for contribution, stays in zip(given.unbind(1), goes_on.unbind(1), strict=True):
        state = cell(contribution, state)
        rows.append(state)
        state = state.masked_fill(~stays, 0)  # also if it is not finite
    return torch.stack(rows, 1)[..., : cell.size], state
