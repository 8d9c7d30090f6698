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


def _stacked(gradient: Tensor, max_norm: float) -> Tensor:
    return torch_shorten(gradient, gradient.norm(dim=1), max_norm)


def _by_element(gradient: Tensor, max_norm: float) -> Tensor:
    return gradient.clamp(-max_norm, max_norm)


def _always(gradient: Tensor, max_norm: float) -> Tensor:
    return gradient * max_norm / gradient.norm(dim=1, keepdim=True).clamp(min=1e-12)


def _nan_at_zero(gradient: Tensor, max_norm: float) -> Tensor:
    return gradient / gradient.norm(dim=1, keepdim=True) * gradient.norm(dim=1, keepdim=True).clamp(max=max_norm)


def _by_parameter(gradient: Tensor, max_norm: float) -> Tensor:
    return gradient * (max_norm / gradient.norm(dim=0, keepdim=True).clamp(min=1e-12)).clamp(max=1)


def _by_largest(gradient: Tensor, max_norm: float) -> Tensor:
    return gradient * (max_norm / gradient.abs().amax(1, keepdim=True).clamp(min=1e-12)).clamp(max=1)


def _dropped(gradient: Tensor, max_norm: float) -> Tensor:
    return gradient * (gradient.norm(dim=1, keepdim=True) <= max_norm)


check_shorten = Exercise(
    _right,
    cases=(
        {"gradient": torch.tensor([[3.0, 4.0], [0.03, 0.04]]), "max_norm": 0.5},
        {"gradient": torch.tensor([[0.3, -40.0, 0.0]]), "max_norm": 1.0},
        {"gradient": torch.tensor([[0.0, 0.0], [0.6, 0.8], [-5.0, 12.0]]), "max_norm": 2.0},
    ),
    mistakes={
        "there is one norm for all agents, so one long gradient shortens all the others. Each row has its own "
        "norm.": _stacked,
        "each component was limited separately, which changes the gradient's direction. Multiply the whole row by one "
        "factor.": _by_element,
        "short gradients get longer. A factor is never more than 1.": _always,
        "a gradient of zeros becomes NaN, from 0/0. There is nothing to shorten there.": _nan_at_zero,
        "the norm was taken over the agents, for each parameter. It runs over the parameters, dim=1.": _by_parameter,
        "the length was measured by the largest component. The norm is the square root of the sum of squares.": (
            _by_largest
        ),
        "gradients that are too long are dropped. Their direction is still good: shorten them.": _dropped,
    },
    tolerance=1e-4,
    drawn=lambda d: {"gradient": d.tensor(3, 4), "max_norm": d.number(0.2, 4.0)},
)
