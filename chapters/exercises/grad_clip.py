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


def _factor(norm: Tensor, most: float) -> Tensor:
    return (most / norm.clamp(min=1e-12)).clamp(max=1)


def _norm(gradient: Tensor) -> Tensor:
    return gradient.norm(dim=1, keepdim=True)


def _right(policy: Tensor, value: Tensor, max_norm: float, max_value_norm: float) -> tuple[Tensor, Tensor]:
    return policy * _factor(_norm(policy), max_norm), value * _factor(_norm(value), max_value_norm)


def _together(policy: Tensor, value: Tensor, max_norm: float, max_value_norm: float) -> tuple[Tensor, Tensor]:
    norm = _norm(torch.cat([policy, value], 1))
    return policy * _factor(norm, max_norm), value * _factor(norm, max_value_norm)


check_shorten = Exercise(
    _right,
    cases=(
        {
            "policy": torch.tensor([[3.0, 4.0], [0.03, 0.04]]),
            "value": torch.tensor([[0.6, 0.8], [-5.0, 12.0]]),
            "max_norm": 0.5,
            "max_value_norm": 2.0,
        },
        {
            "policy": torch.tensor([[0.3, -40.0, 0.0]]),
            "value": torch.tensor([[0.0, 20.0]]),
            "max_norm": 1.0,
            "max_value_norm": 10.0,
        },
        {
            "policy": torch.tensor([[0.0, 0.0], [0.6, 0.8], [-5.0, 12.0]]),
            "value": torch.tensor([[3.0], [0.0], [-0.5]]),
            "max_norm": 2.0,
            "max_value_norm": 1.0,
        },
    ),
    mistakes={
        "there is one norm for both nets, so a long gradient of one shortens the other's. Each net has its own norm.": (
            _together
        ),
        "there is one norm for all agents, so one long gradient shortens all the others. Each row has its own norm.": (
            lambda p, v, most, most_v: (p * _factor(p.norm(), most), v * _factor(v.norm(), most_v))
        ),
        "one limit is used for both nets, the policy's. What is the fourth argument?": (
            lambda p, v, most, most_v: _right(p, v, most, most)
        ),
        "each component was limited separately, which changes a gradient's direction. Multiply the whole row by one "
        "factor.": (lambda p, v, most, most_v: (p.clamp(-most, most), v.clamp(-most_v, most_v))),
        "short gradients get longer. A factor is never more than 1.": (
            lambda p, v, most, most_v: (
                p * most / _norm(p).clamp(min=1e-12),
                v * most_v / _norm(v).clamp(min=1e-12),
            )
        ),
        "a gradient of zeros becomes NaN, from 0/0. There is nothing to shorten there.": (
            lambda p, v, most, most_v: (
                p / _norm(p) * _norm(p).clamp(max=most),
                v / _norm(v) * _norm(v).clamp(max=most_v),
            )
        ),
    },
    tolerance=1e-4,
    drawn=lambda d: {
        "policy": d.tensor(3, 4),
        "value": d.tensor(3, 2),
        "max_norm": d.number(0.2, 4.0),
        "max_value_norm": d.number(0.2, 2.0),
    },
)
