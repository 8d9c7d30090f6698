"""The layers of `core.layers` in the forms that a CPU computes fastest, and large batches in passes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

MINUS_ONE = torch.tensor(-1.0)


CACHED, FEWEST = 200_000, 64  # features, and rows, of one pass without gradients: what stays in a cache of 1 MB


def tanh_layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """tanh(xW + b) as 2σ(2(xW + b)) − 1, which takes a third of the time. x [S, B, in] -> [S, B, out]."""
    layer: Callable[[Tensor, Tensor, Tensor], Tensor] = TanhLayer.apply if torch.is_grad_enabled() else _tanh_layer
    return layer(x, weight, bias)


def relu_layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """max(0, xW + b). x [S, B, in] -> [S, B, out]."""
    return torch.baddbmm(bias, x, weight).relu_()


def product(x: Tensor, weight: Tensor) -> Tensor:
    """xW as (WᵀXᵀ)ᵀ: a product with few columns takes several times as long as one with few rows."""
    if torch.is_grad_enabled():
        found: Tensor = NarrowProduct.apply(x, weight)  # type: ignore[no-untyped-call]
        return found
    out = _narrow_product(x, weight)
    return out.contiguous() if x.shape[1] < FEWEST else out  # to sample from a transposed one takes long


def in_passes(net: Callable[[Tensor], Tensor], x: Tensor, width: int) -> Tensor:
    """net(x); without gradients, so many rows at a time that their features, `width` a row, stay in the cache."""
    rows = max(FEWEST, CACHED // (len(x) * width))
    if torch.is_grad_enabled() or x.shape[1] <= rows:
        return net(x)
    return torch.cat([net(some) for some in x.split(rows, 1)], 1)


def _tanh_layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    out = torch.baddbmm(bias, x, weight, beta=2, alpha=2).sigmoid_()
    return torch.add(MINUS_ONE, out, alpha=2, out=out)


def _narrow_product(x: Tensor, weight: Tensor) -> Tensor:
    return torch.bmm(weight.mT, x.mT).mT


class TanhLayer(torch.autograd.Function):
    """`tanh_layer` and its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        out = _tanh_layer(x, weight, bias)
        ctx.save_for_backward(x, weight, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        x, weight, out = ctx.saved_tensors
        grad = torch.ops.aten.tanh_backward(grad, out)
        before = torch.bmm(grad, weight.mT) if ctx.needs_input_grad[0] else None
        return before, torch.bmm(x.mT, grad), grad.sum(1, keepdim=True)


class NarrowProduct(torch.autograd.Function):
    """`product` and its gradient, without a narrow product."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _narrow_product(x, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        return torch.bmm(grad, weight.mT), torch.bmm(grad.mT, x).mT
