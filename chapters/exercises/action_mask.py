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


def _right(logits: Tensor, legal: Tensor) -> Tensor:
    return logits.masked_fill(~legal, ILLEGAL).softmax(-1)


def _shares(x: Tensor) -> Tensor:
    return x / x.sum(-1, keepdim=True)


check_masked = Exercise(
    _right,
    cases=(
        {"logits": torch.tensor([0.0, 0.0, 0.0]), "legal": torch.tensor([True, True, False])},
        {
            "logits": torch.tensor([[1.0, 99.0, 2.0, -5.0], [0.5, -3.0, 2.0, 1.0]]),
            "legal": torch.tensor([[True, False, True, True], [True, True, False, False]]),
        },
        {"logits": torch.tensor([0.0, 1.0, 200.0]), "legal": torch.tensor([True, True, False])},
    ),
    mistakes={
        "a logit of 0 is not a probability of 0: e⁰ = 1. An illegal action needs a logit of −∞, or close to it.": (
            lambda logits, legal: (logits * legal).softmax(-1)
        ),
        "legal and illegal are swapped: masked_fill replaces where its mask is True.": (
            lambda logits, legal: _right(logits, ~legal)
        ),
        "the probabilities don't sum to 1. What the illegal actions lose goes to the legal ones.": (
            lambda logits, legal: logits.softmax(-1) * legal
        ),
        "the logits are ignored. Legal actions keep their proportions to each other.": (
            lambda logits, legal: _shares(legal)
        ),
        "the mask has no effect.": lambda logits, legal: logits.softmax(-1),
        "an illegal action with a large logit is still possible. Don't subtract: replace.": (
            lambda logits, legal: (logits - 10.0 * ~legal).softmax(-1)
        ),
        "where an illegal action has nearly all the probability, the others underflow to 0, and 0/0 is NaN. Mask "
        "the logits, before the softmax.": (lambda logits, legal: _shares(logits.softmax(-1) * legal)),
        "0·∞ is NaN: don't multiply the mask by infinity. Use torch.where or masked_fill.": (
            lambda logits, legal: (logits - torch.inf * ~legal).softmax(-1)
        ),
        "eˣ of a large logit overflows. Mask the logits, and let softmax subtract the maximum.": (
            lambda logits, legal: _shares(logits.exp() * legal)
        ),
    },
    drawn=lambda d: {
        "logits": d.tensor(3, 5, low=-5.0, high=5.0),
        "legal": d.flags(3, 5) | (torch.arange(5) == d.whole(0, 4)),
    },
    gradients=("logits",),
)
