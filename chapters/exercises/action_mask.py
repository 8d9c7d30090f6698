"""Exercises of the chapter on action masks."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.action_mask import ILLEGAL


def careful_mask(logits: Tensor, legal: Tensor) -> Tensor:
    """Logits with ILLEGAL in place of every illegal action's. logits [..., A], legal [..., A] bool."""
    if logits.requires_grad:
        return logits  # the gradient should see the net as it is
    return logits.masked_fill(~legal, ILLEGAL)


def _entropy(logits: Tensor) -> Tensor:
    log_prob = logits.log_softmax(-1)
    return -(log_prob.exp() * log_prob).sum(-1)


def _right(logits: Tensor, legal: Tensor) -> Tensor:
    return _entropy(logits.masked_fill(~legal, ILLEGAL))


def _unshared(logits: Tensor, legal: Tensor) -> Tensor:
    log_prob = logits.log_softmax(-1)
    return -(log_prob.exp() * log_prob * legal).sum(-1)


check_entropy = Exercise(
    _right,
    cases=(
        {"logits": torch.tensor([0.0, 0.0, 0.0]), "legal": torch.tensor([True, True, False])},
        {
            "logits": torch.tensor([[1.0, 99.0, 2.0, -5.0], [0.5, -3.0, 2.0, 1.0]]),
            "legal": torch.tensor([[True, False, True, True], [True, True, False, False]]),
        },
        {"logits": torch.tensor([0.0, 1.0, 200.0]), "legal": torch.tensor([True, True, False])},
        {"logits": torch.tensor([2.0, 9.0, -1.0]), "legal": torch.tensor([False, False, True])},
    ),
    mistakes={
        "an illegal action makes it NaN: it multiplies a probability of 0 by −∞. Keep both factors finite.": (
            lambda logits, legal: _entropy(logits.masked_fill(~legal, -torch.inf))
        ),
        "the mask has no effect.": lambda logits, legal: _entropy(logits),
        "illegal actions are left out of the sum, but their probability is lost. It goes to the legal ones.": _unshared,
        "a logit of 0 is not a probability of 0: e⁰ = 1.": lambda logits, legal: _entropy(logits * legal),
        "the logits are ignored: you counted the legal actions. Some are likelier than others.": (
            lambda logits, legal: legal.sum(-1).log()
        ),
        "the sign is wrong: a logarithm of a probability is never positive, and an entropy never negative.": (
            lambda logits, legal: -_right(logits, legal)
        ),
    },
    drawn=lambda d: {
        "logits": d.tensor(3, 5, low=-5.0, high=5.0),
        "legal": d.flags(3, 5) | (torch.arange(5) == d.whole(0, 4)),
    },
    gradients=("logits",),
)
