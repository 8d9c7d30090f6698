"""Exercises of the chapter on the entropy bonus."""

import math

import torch
from torch import Tensor

from chapters.book.exercise import Exercise


def reported_bonus(entropy: Tensor, valid: Tensor, coef: float) -> Tensor:
    """c₂·mean(H(π(·|s))), to be maximized. entropy [S, B] in nats -> [S]."""
    report = [row[rows].mean().item() if rows.any() else 0.0 for row, rows in zip(entropy, valid, strict=True)]
    return coef * torch.tensor(report)


def _right(logits: Tensor) -> Tensor:
    log_prob = logits.log_softmax(-1)
    return -(log_prob.exp() * log_prob).sum(-1)


check_entropy = Exercise(
    _right,
    cases=(
        {"logits": torch.tensor([[math.log(2), 0.0, 0.0]])},
        {"logits": torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]])},
        {"logits": torch.tensor([[300.0, 0.0], [0.0, -1e30]])},
    ),
    mistakes={
        "a probability that underflows to 0 gives 0·log 0 = 0·(−∞), which is NaN. Take log_softmax, which stays "
        "finite, and its exp.": (lambda logits: -(logits.softmax(-1) * logits.softmax(-1).log()).sum(-1)),
        "these are bits. The library uses nats: the natural logarithm.": lambda logits: _right(logits) / math.log(2),
        "the sign is missing: log π is never positive, so −Σ π·log π is never negative.": (
            lambda logits: -_right(logits)
        ),
        "the sum over actions was divided by their number. The weights π already sum to 1.": (
            lambda logits: _right(logits) / logits.shape[-1]
        ),
        "logits are not log-probabilities: log π(a) is the logit minus log Σ exp of all of them.": (
            lambda logits: -(logits.softmax(-1) * logits).sum(-1)
        ),
        "every action counts the same here. Each −log π(a) is weighted by π(a), how often it happens.": (
            lambda logits: -logits.log_softmax(-1).mean(-1)
        ),
    },
    drawn=lambda d: {"logits": d.tensor(3, 4, low=-5.0, high=5.0)},
    gradients=("logits",),
)
