"""What is computed row by row, compiled by numba where it can be. Each returns None for tensors that it is not for."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tricks.fast.dispatch import compiled, gradients, loaded


def mean(x: Tensor, valid: Tensor) -> Tensor | None:
    """`core.reductions.mean`."""
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
        gradients().mean_backward(grad.numpy(), ctx.valid.contiguous().numpy(), ctx.rows, of_x.numpy())
        return None, of_x, None


def discounted_sum(x: Tensor, discount: Tensor) -> Tensor | None:
    """`core.returns.discounted_sum`."""
    if not (x.is_cpu and x.dtype is discount.dtype in (torch.float32, torch.float64) and x.dim() == 3):
        return None
    code = loaded("compiled_rows")
    if code is None or x.shape != discount.shape or x.requires_grad or discount.requires_grad:
        return None
    sums = torch.empty_like(x, memory_format=torch.contiguous_format)
    code.discounted_sum(x.contiguous().numpy(), discount.contiguous().numpy(), sums.numpy())
    return sums


def log_prob(logits: Tensor, action: Tensor) -> Tensor | None:
    """`Categorical.log_prob`."""
    code = loaded("compiled_rows") if logits.is_cpu and logits.dtype is torch.float32 else None
    if code is None or action.dtype is not torch.int64 or action.shape != logits.shape[:-1]:
        return None
    found: Tensor = LogProb.apply(code, logits, action)  # type: ignore[no-untyped-call]
    return found


def entropy(logits: Tensor) -> Tensor | None:
    """`Categorical.entropy`."""
    code = loaded("compiled_gradients") if logits.is_cpu and logits.dtype is torch.float32 else None
    if code is None:
        return None
    found: Tensor = Entropy.apply(code, logits)  # type: ignore[no-untyped-call]
    return found


def _rows(x: Tensor) -> np.ndarray:
    """[..., A] as contiguous rows [R, A]."""
    rows: np.ndarray = x.detach().reshape(-1, x.shape[-1]).contiguous().numpy()
    return rows


class LogProb(torch.autograd.Function):
    """`log_prob` and its gradient."""

    @staticmethod
    def forward(ctx: Any, code: Any, logits: Tensor, action: Tensor) -> Tensor:
        rows, out = _rows(logits), logits.new_empty(action.shape)
        p, chosen = np.empty_like(rows), action.reshape(-1).contiguous().numpy()
        code.log_prob_forward(rows, chosen, out.view(-1).numpy(), p)
        ctx.code, ctx.p, ctx.action = code, p, chosen
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
        of_logits = grad.new_empty(*grad.shape, ctx.p.shape[1])
        gradients().log_prob_backward(grad.reshape(-1).numpy(), ctx.action, ctx.p, of_logits.view(ctx.p.shape).numpy())
        return None, of_logits, None


class Entropy(torch.autograd.Function):
    """`entropy` and its gradient."""

    @staticmethod
    def forward(ctx: Any, code: Any, logits: Tensor) -> Tensor:
        rows, out = _rows(logits), logits.new_empty(logits.shape[:-1])
        p, log_p, flat = np.empty_like(rows), np.empty_like(rows), out.view(-1).numpy()
        code.entropy_forward(rows, flat, p, log_p)
        ctx.code, ctx.kept = code, (flat, p, log_p)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        shape = ctx.kept[1].shape
        of_logits = grad.new_empty(*grad.shape, shape[1])
        gradients().entropy_backward(grad.reshape(-1).numpy(), *ctx.kept, of_logits.view(shape).numpy())
        return None, of_logits


def adam(optimizer: Any, gradient: Tensor, learning_rate: Tensor, moving: Tensor) -> bool | None:
    """`core.adam.Adam.plan`."""
    columns = optimizer.m, optimizer.v, optimizer.t, optimizer.change, gradient.contiguous(), learning_rate.float()
    code = compiled("compiled_rows", optimizer.m, columns[4])
    if code is None:
        return None
    eps = np.broadcast_to(np.asarray(optimizer.eps, np.float64), len(moving))
    code.adam(*(column.numpy() for column in columns), eps, moving.squeeze(1).numpy())
    return True
