"""Exercises of the chapter on shared trunks."""

from copy import deepcopy

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.core.agent import Agent

Lengths = tuple[Tensor, Tensor]


def share_body_(agent: Agent) -> None:
    """Let the value net read V(s) from the policy net's body, in place, and give up its own."""
    agent.value_net.body = deepcopy(agent.policy_net.body)


def _parts(g_policy: Tensor, g_value: Tensor, value_coef: float, factor: Tensor) -> Lengths:
    return factor * g_policy.norm(dim=1), factor * value_coef * g_value.norm(dim=1)


def _factor(norm: Tensor, max_norm: float) -> Tensor:
    return (max_norm / norm.clamp(min=1e-12)).clamp(max=1)


def _right(g_policy: Tensor, g_value: Tensor, value_coef: float, max_norm: float) -> Lengths:
    norm = (g_policy + value_coef * g_value).norm(dim=1)
    return _parts(g_policy, g_value, value_coef, _factor(norm, max_norm))


check_parts = Exercise(
    _right,
    cases=(
        {
            "g_policy": torch.tensor([[0.3, 0.0], [0.0, 0.1]]),
            "g_value": torch.tensor([[0.0, 8.0], [0.0, 0.2]]),
            "value_coef": 0.5,
            "max_norm": 0.5,
        },
        {
            "g_policy": torch.tensor([[3.0, 4.0, 0.0]]),
            "g_value": torch.tensor([[-30.0, -40.0, 0.0]]),
            "value_coef": 0.04,
            "max_norm": 2.0,
        },
        {
            "g_policy": torch.tensor([[0.6, 0.0], [1.0, -2.0], [0.2, 0.1]]),
            "g_value": torch.tensor([[0.0, 0.8], [90.0, 10.0], [3.0, 4.0]]),
            "value_coef": 1.0,
            "max_norm": 1.0,
        },
    ),
    mistakes={
        "each part was shortened separately. There is one gradient, the sum, and one factor for both.": (
            lambda p, v, c, most: (p.norm(dim=1).clamp(max=most), (c * v.norm(dim=1)).clamp(max=most))
        ),
        "c₁ is missing: what reaches the body is c₁ times the gradient of the value loss.": (
            lambda p, v, c, most: _right(p, v, 1.0, most)
        ),
        "the norm was taken without c₁. Weigh first, then add, then measure.": (
            lambda p, v, c, most: _parts(p, v, c, _factor((p + v).norm(dim=1), most))
        ),
        "the norm of a sum is the sum of the norms only if both point the same way. Add the vectors first.": (
            lambda p, v, c, most: _parts(p, v, c, _factor(p.norm(dim=1) + c * v.norm(dim=1), most))
        ),
        "short gradients get longer. The factor is never more than 1.": (
            lambda p, v, c, most: _parts(p, v, c, most / (p + c * v).norm(dim=1))
        ),
        "one norm was taken over all agents. Each row has its own.": (
            lambda p, v, c, most: _parts(p, v, c, _factor((p + c * v).norm(), most))
        ),
    },
    drawn=lambda d: {
        "g_policy": d.tensor(3, 4),
        "g_value": d.tensor(3, 4),
        "value_coef": d.number(0.2, 0.9),
        "max_norm": d.number(0.2, 4.0),
    },
)
