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


def _zero_logits(logits: Tensor, legal: Tensor) -> Tensor:
    return (logits * legal).softmax(-1)


def _inverted(logits: Tensor, legal: Tensor) -> Tensor:
    return _right(logits, ~legal)


def _not_renormalized(logits: Tensor, legal: Tensor) -> Tensor:
    return logits.softmax(-1) * legal


def _uniform(logits: Tensor, legal: Tensor) -> Tensor:
    return legal / legal.sum(-1, keepdim=True)


def _unmasked(logits: Tensor, legal: Tensor) -> Tensor:
    return logits.softmax(-1)


def _too_timid(logits: Tensor, legal: Tensor) -> Tensor:
    return (logits - 10.0 * ~legal).softmax(-1)


def _divided_by_zero(logits: Tensor, legal: Tensor) -> Tensor:
    kept = logits.softmax(-1) * legal
    return kept / kept.sum(-1, keepdim=True)


def _infinity_times_zero(logits: Tensor, legal: Tensor) -> Tensor:
    return (logits - torch.inf * ~legal).softmax(-1)


def _overflowing(logits: Tensor, legal: Tensor) -> Tensor:
    kept = logits.exp() * legal
    return kept / kept.sum(-1, keepdim=True)


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
        "a logit of 0 is not a probability of 0: e⁰ = 1. An illegal action needs a logit of −∞, or close "
        "to it.": _zero_logits,
        "legal and illegal are swapped: masked_fill replaces where its mask is True.": _inverted,
        "the probabilities don't sum to 1. What the illegal actions lose goes to the legal ones.": _not_renormalized,
        "the logits are ignored. Legal actions keep their proportions to each other.": _uniform,
        "the mask has no effect.": _unmasked,
        "an illegal action with a large logit is still possible. Don't subtract: replace.": _too_timid,
        "where an illegal action has nearly all the probability, the others underflow to 0, and 0/0 is NaN. Mask "
        "the logits, before the softmax.": _divided_by_zero,
        "0·∞ is NaN: don't multiply the mask by infinity. Use torch.where or masked_fill.": _infinity_times_zero,
        "eˣ of a large logit overflows. Mask the logits, and let softmax subtract the maximum.": _overflowing,
    },
    drawn=lambda d: {
        "logits": d.tensor(3, 5, low=-5.0, high=5.0),
        "legal": d.flags(3, 5) | (torch.arange(5) == d.whole(0, 4)),
    },
    gradients=("logits",),
)
