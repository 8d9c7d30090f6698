"""What is computed row by row, compiled by numba where it can be. Each returns None for tensors that it is not for."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tricks.fast.dispatch import gradients, loaded, simple

FLOATS = torch.float32, torch.float64


def mean(x: Tensor, valid: Tensor) -> Tensor | None:
    """`core.reductions.mean`."""
    code = loaded("compiled_rows") if simple(x, *FLOATS) and simple(valid, torch.bool) else None
    if code is None or x.dim() != 2 or x.shape != valid.shape:
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
        ctx.rows, ctx.valid = rows, valid.numpy().copy()  # the rows that it is the mean of, whatever becomes of `valid`
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
        of_x = grad.new_empty(ctx.valid.shape)
        gradients().mean_backward(grad.numpy(), ctx.valid, ctx.rows, of_x.numpy())
        return None, of_x, None


def discounted_sum(x: Tensor, discount: Tensor) -> Tensor | None:
    """`core.returns.discounted_sum`."""
    same = simple(x, *FLOATS) and simple(discount, x.dtype) and x.shape == discount.shape
    code = loaded("compiled_rows") if same and x.dim() == 3 and x.shape[1] else None
    if code is None or x.requires_grad or discount.requires_grad:
        return None
    sums = torch.empty_like(x, memory_format=torch.contiguous_format)
    code.discounted_sum(x.contiguous().numpy(), discount.contiguous().numpy(), sums.numpy())
    return sums


def log_prob(logits: Tensor, action: Tensor) -> Tensor | None:
    """`Categorical.log_prob`."""
    known = simple(logits, torch.float32) and simple(action, torch.int64)
    code = loaded("compiled_rows") if known and logits.dim() and logits.shape[-1] else None
    if code is None or action.shape != logits.shape[:-1]:
        return None
    found: Tensor | None = LogProb.apply(code, logits, action)  # type: ignore[no-untyped-call]
    return found


def _rows(x: Tensor) -> np.ndarray:
    """[..., A] as contiguous rows [R, A]."""
    rows: np.ndarray = x.detach().reshape(-1, x.shape[-1]).contiguous().numpy()
    return rows


class LogProb(torch.autograd.Function):
    """`log_prob` and its gradient."""

    @staticmethod
    def forward(ctx: Any, code: Any, logits: Tensor, action: Tensor) -> Tensor | None:
        rows, out = _rows(logits), logits.new_empty(action.shape)
        p = np.empty_like(rows)
        if not code.log_prob_forward(rows, action.reshape(-1).contiguous().numpy(), out.view(-1).numpy(), p):
            return None  # there is no such action
        ctx.save_for_backward(action)
        ctx.p = p
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
        action = ctx.saved_tensors[0].reshape(-1).contiguous().numpy()
        of_logits = grad.new_empty(*grad.shape, ctx.p.shape[1])
        gradients().log_prob_backward(grad.reshape(-1).numpy(), action, ctx.p, of_logits.view(ctx.p.shape).numpy())
        return None, of_logits, None


def known(optimizer: Any, gradient: Tensor) -> bool:
    """Whether an optimizer's averages, counts and changes are laid out as kernels take them, as its gradient is."""
    shape, averages = gradient.shape, (optimizer.m, optimizer.v, optimizer.change)
    flat = all(simple(x, torch.float32) and x.is_contiguous() and x.shape == shape for x in averages)
    counts = simple(optimizer.t, torch.int64) and optimizer.t.shape == (*shape[:1], 1) and optimizer.t.is_contiguous()
    return flat and counts and simple(gradient, torch.float32) and gradient.dim() == 2
