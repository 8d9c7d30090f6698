"""Multilayer perceptrons with a seed axis: S independent nets evaluated by one batched matrix product a layer."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

MANY = 64  # rows of one seed from which on the longer way to tanh is the faster one


class MLP(nn.Module):
    """tanh layers and a linear head, for S seeds at once: [S, B, D] -> [S, B, out].

    A layer is its weight [S, in, out] and bias [S, 1, out]; the last one is the head. Initialized as
    torch.nn.Linear is, U(±1/√in), each seed from its own generator. With `exact` the head's bias, and so the
    output, is float64: a float32 bias cannot hold a PopArt head's large offset and its small outputs together.
    """

    def __init__(self, generators: Sequence[np.random.Generator], sizes: Sequence[int], exact: bool = False) -> None:
        super().__init__()
        self.layers: list[tuple[nn.Parameter, nn.Parameter]] = []
        for i, (inputs, outputs) in enumerate(pairwise(sizes)):
            limit, head = 1 / inputs**0.5, i == len(sizes) - 2
            weight = np.stack([g.uniform(-limit, limit, (inputs, outputs)) for g in generators])
            bias = np.stack([g.uniform(-limit, limit, (1, outputs)) for g in generators])
            dtype = torch.float64 if exact and head else torch.float32
            layer = (
                nn.Parameter(torch.from_numpy(weight).float()),
                nn.Parameter(torch.from_numpy(bias).to(dtype)),
            )
            self.register_parameter(f"weight{i}", layer[0])
            self.register_parameter(f"bias{i}", layer[1])
            self.layers.append(layer)  # plain tuples: a ParameterList costs more than a small product

    def forward(self, x: Tensor) -> Tensor:
        *hidden, (weight, bias) = self.layers
        for w, b in hidden:
            x = tanh_(torch.baddbmm(b, x, w))
        return torch.bmm(x, weight) + bias


def tanh_(x: Tensor) -> Tensor:
    """tanh of [S, B, D], in place; for many rows as 2σ(2x) − 1, which takes half the time on a CPU."""
    return _Tanh.apply(x) if x.shape[1] >= MANY else x.tanh_()


class _Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        ctx.save_for_backward(x.mul_(2).sigmoid_().mul_(2).sub_(1))
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return torch.ops.aten.tanh_backward(grad, *ctx.saved_tensors)
