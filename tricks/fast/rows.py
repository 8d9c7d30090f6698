"""What is computed row by row. Each returns None for tensors that it is not for, and where nothing is compiled."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tricks.fast.dispatch import loaded, simple

FLOATS = torch.float32, torch.float64
CODE = "tricks.fast.compiled_rows"


def mean(x: Tensor, valid: Tensor) -> Tensor | None:
    """`core.reductions.mean`, added up in order and in float64, so that filler changes no bit.

    It needs no kernel, but steps aside without numba: then every number is that of the formulas as written.
    """
    known = simple(x, *FLOATS) and simple(valid, torch.bool) and x.dim() == 2 and x.shape == valid.shape
    if not known or not x.shape[1] or loaded(CODE) is None:
        return None
    total = torch.where(valid, x, 0).cumsum(1, dtype=torch.float64).select(1, -1)
    return (total / valid.sum(1).clamp(min=1)).to(x.dtype)


def discounted_sum(x: Tensor, discount: Tensor) -> Tensor | None:
    """`core.reductions.discounted_sum`."""
    same = simple(x, *FLOATS) and simple(discount, x.dtype) and x.shape == discount.shape
    code = loaded(CODE) if same and x.dim() == 3 and x.shape[1] else None
    if code is None or x.requires_grad or discount.requires_grad:
        return None
    sums = torch.empty_like(x, memory_format=torch.contiguous_format)
    code.discounted_sum(x.contiguous().numpy(), discount.contiguous().numpy(), sums.numpy())
    return sums


def log_prob(logits: Tensor, action: Tensor) -> Tensor | None:
    """`Categorical.log_prob`."""
    known = simple(logits, torch.float32) and simple(action, torch.int64)
    code = loaded(CODE) if known and logits.dim() and logits.shape[-1] else None
    if code is None or action.shape != logits.shape[:-1]:
        return None
    found: Tensor | None = LogProb.apply(code, logits, action)  # type: ignore[no-untyped-call]
    return found


class LogProb(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, code: Any, logits: Tensor, action: Tensor) -> Tensor | None:
        given, p, out = logits.detach().contiguous(), logits.new_empty(logits.shape), logits.new_empty(action.shape)
        rows, found = (x.view(-1, x.shape[-1]).numpy() for x in (given, p))
        if not code.log_prob_forward(rows, action.reshape(-1).contiguous().numpy(), out.view(-1).numpy(), found):
            return None  # there is no such action
        ctx.save_for_backward(p, action)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
        p, action = ctx.saved_tensors
        chosen = torch.zeros_like(p).scatter_(-1, action.unsqueeze(-1), 1)
        return None, (chosen - p) * grad.unsqueeze(-1), None  # ∂ log π(a)/∂zⱼ = [j = a] − π(j)
