"""Exercises of the chapter on gradient clipping."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise


def torch_shorten(gradient: Tensor, norm: Tensor, max_norm: float) -> Tensor:
    """g·min(1, max_norm/‖g‖). gradient [S, P] -> [S, P]."""
    parameter = torch.nn.Parameter(torch.zeros_like(gradient))
    parameter.grad = gradient.clone()
    torch.nn.utils.clip_grad_norm_([parameter], max_norm)
    return parameter.grad


def _right(gradient: Tensor, max_norm: float) -> Tensor:
    norm = gradient.norm(dim=1, keepdim=True)
    return gradient * (max_norm / norm.clamp(min=1e-12)).clamp(max=1)


check_shorten = Exercise(
    _right,
    cases=(
        {"gradient": torch.tensor([[3.0, 4.0], [0.03, 0.04]]), "max_norm": 0.5},
        {"gradient": torch.tensor([[0.3, -40.0, 0.0]]), "max_norm": 1.0},
        {"gradient": torch.tensor([[0.0, 0.0], [0.6, 0.8], [-5.0, 12.0]]), "max_norm": 2.0},
    ),
    mistakes={
        "there is one norm for all agents, so one long gradient shortens all the others. Each row has its own norm.": (
            lambda g, most: torch_shorten(g, g.norm(dim=1), most)
        ),
        "each component was limited separately, which changes the gradient's direction. Multiply the whole row by one "
        "factor.": (lambda g, most: g.clamp(-most, most)),
        "short gradients get longer. A factor is never more than 1.": (
            lambda g, most: g * most / g.norm(dim=1, keepdim=True).clamp(min=1e-12)
        ),
        "a gradient of zeros becomes NaN, from 0/0. There is nothing to shorten there.": (
            lambda g, most: g / g.norm(dim=1, keepdim=True) * g.norm(dim=1, keepdim=True).clamp(max=most)
        ),
        "the norm was taken over the agents, for each parameter. It runs over the parameters, dim=1.": (
            lambda g, most: g * (most / g.norm(dim=0, keepdim=True).clamp(min=1e-12)).clamp(max=1)
        ),
        "the length was measured by the largest component. The norm is the square root of the sum of squares.": (
            lambda g, most: g * (most / g.abs().amax(1, keepdim=True).clamp(min=1e-12)).clamp(max=1)
        ),
        "gradients that are too long are dropped. Their direction is still good: shorten them.": (
            lambda g, most: g * (g.norm(dim=1, keepdim=True) <= most)
        ),
    },
    tolerance=1e-4,
    drawn=lambda d: {"gradient": d.tensor(3, 4), "max_norm": d.number(0.2, 4.0)},
)
