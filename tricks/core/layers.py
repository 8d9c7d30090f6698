"""The layers of a net for vectors, with a seed axis, in the forms that a CPU computes fastest."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

MINUS_ONE = torch.tensor(-1.0)


def tanh_layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """tanh(xW + b) as 2σ(2(xW + b)) − 1, which takes a third of the time. x [S, B, in] -> [S, B, out]."""
    out = torch.baddbmm(bias, x, weight, beta=2, alpha=2).sigmoid_()
    return torch.add(MINUS_ONE, out, alpha=2, out=out)


def relu_layer(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """max(0, xW + b). x [S, B, in] -> [S, B, out]."""
    return torch.baddbmm(bias, x, weight).relu_()


def narrow_product(x: Tensor, weight: Tensor) -> Tensor:
    """xW as (WᵀXᵀ)ᵀ: a product with few columns takes several times as long as one with few rows."""
    return torch.bmm(weight.mT, x.mT).mT


class TanhLayer(torch.autograd.Function):
    """`tanh_layer` and its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        out = tanh_layer(x, weight, bias)
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
    """`narrow_product` and its gradient, without a narrow product."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return narrow_product(x, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        return torch.bmm(grad, weight.mT), torch.bmm(grad.mT, x).mT
