"""Means over rows, and Adam's step, compiled by numba where they can be."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tricks.fast.choice import loaded


def mean(x: Tensor, valid: Tensor) -> Tensor | None:
    """`core.reductions.mean`, or None if these tensors are not for it."""
    if not (x.is_cpu and valid.dtype is torch.bool and x.dtype in (torch.float32, torch.float64) and x.dim() == 2):
        return None
    code = loaded("compiled_rows")
    if code is None:
        return None
    if torch.is_grad_enabled() and x.requires_grad:
        found: Tensor = Mean.apply(code, x, valid)  # type: ignore[no-untyped-call]
        return found
    return _mean(code, x, valid)[0]


def _mean(code: Any, x: Tensor, valid: Tensor) -> tuple[Tensor, np.ndarray]:
    out, rows = x.new_empty(len(x)), np.empty(len(x))
    code.mean_forward(x.detach().contiguous().numpy(), valid.contiguous().numpy(), out.numpy(), rows)
    return out, rows


class Mean(torch.autograd.Function):
    """`mean` and its gradient."""

    @staticmethod
    def forward(ctx: Any, code: Any, x: Tensor, valid: Tensor) -> Tensor:
        out, rows = _mean(code, x, valid)
        ctx.code, ctx.rows, ctx.valid = code, rows, valid
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
        of_x = grad.new_empty(ctx.valid.shape)
        ctx.code.mean_backward(grad.numpy(), ctx.valid.contiguous().numpy(), ctx.rows, of_x.numpy())
        return None, of_x, None
