"""Exercises of the chapter on the entropy bonus."""

import math

import torch
from torch import Tensor

from chapters.book.exercise import Exercise


def reported_bonus(entropy: Tensor, valid: Tensor, coef: float) -> Tensor:
    """c₂·mean(H(π(·|s))), to be maximized. entropy [S, B] in nats -> [S]."""
    report = [row[rows].mean().item() if rows.any() else 0.0 for row, rows in zip(entropy, valid, strict=True)]
    return coef * torch.tensor(report)


def _parts(logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """π, log π, and the entropy of each row."""
    log_prob = logits.log_softmax(-1)
    prob = log_prob.exp()
    return prob, log_prob, -(prob * log_prob).sum(-1, keepdim=True)


def _right(logits: Tensor) -> Tensor:
    prob, log_prob, entropy = _parts(logits)
    return -prob * (log_prob + entropy)


def _infinite(logits: Tensor) -> Tensor:
    prob, log_prob = logits.softmax(-1), logits.softmax(-1).log()
    return -prob * (log_prob - (prob * log_prob).sum(-1, keepdim=True))


def _each_alone(logits: Tensor) -> Tensor:
    prob, log_prob, _ = _parts(logits)
    return -prob * (log_prob + 1)


def _minus_entropy(logits: Tensor) -> Tensor:
    prob, log_prob, entropy = _parts(logits)
    return -prob * (log_prob - entropy)


def _one_entropy(logits: Tensor) -> Tensor:
    prob, log_prob, entropy = _parts(logits)
    return -prob * (log_prob + entropy.mean())


def _unweighted(logits: Tensor) -> Tensor:
    _, log_prob, entropy = _parts(logits)
    return -(log_prob + entropy)


check_slope = Exercise(
    _right,
    cases=(
        {"logits": torch.tensor([[math.log(2), 0.0, 0.0]])},
        {"logits": torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]])},
        {"logits": torch.tensor([[300.0, 0.0], [0.0, -1e30]])},
    ),
    mistakes={
        "a probability that underflows to 0 gives 0·log 0 = 0·(−∞), which is NaN. Take log_softmax, which stays "
        "finite, and its exp.": _infinite,
        "the sign is wrong: this is downhill, toward a policy that is more certain.": lambda logits: -_right(logits),
        "here each logit moves only its own probability. The softmax keeps the sum at 1, so the others move, too.": (
            _each_alone
        ),
        "the slopes of a row should sum to 0: to raise all its logits alike changes nothing. Is Σ π·log π H or −H?": (
            _minus_entropy
        ),
        "every row has an entropy of its own. Yours is one number for all rows.": _one_entropy,
        "an action that is never taken gets a steep slope here, but its logit hardly matters. A factor is missing.": (
            _unweighted
        ),
    },
    drawn=lambda d: {"logits": d.tensor(3, 4, low=-5.0, high=5.0)},
)
