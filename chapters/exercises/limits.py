"""Exercises of the chapter on lengths, limits, and leashes."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.core.reductions import sum_over_reply


def mean_of_batch(x: Tensor, reply: Tensor, valid: Tensor, lanes: int) -> Tensor:
    """The mean over replies of the mean over each one's rows. x, reply, valid [S, B] -> [S]."""
    length = sum_over_reply(valid.to(x.dtype), reply, valid, lanes).clamp(min=1)
    replies = (valid / length).sum(1).mean()
    return (torch.where(valid, x, 0) / length).sum(1) / replies


def _mean_gradient(price: Tensor, probs: Tensor) -> Tensor:
    return probs * (price - (probs * price).sum())


def _k3(probs: Tensor, reference: Tensor) -> Tensor:
    return reference / probs - 1 - (reference / probs).log()


check_penalty = Exercise(
    lambda probs, reference: _mean_gradient(_k3(probs, reference), probs),
    cases=(
        {"probs": torch.tensor([0.8, 0.2]), "reference": torch.tensor([0.5, 0.5])},
        {"probs": torch.tensor([0.7, 0.2, 0.1]), "reference": torch.tensor([0.1, 0.2, 0.7])},
        {"probs": torch.tensor([0.3, 0.7]), "reference": torch.tensor([0.3, 0.7])},
    ),
    mistakes={
        "this is the gradient of k3 in the loss. In the reward, k3 itself multiplies the score.": (
            lambda probs, reference: _mean_gradient(1 - reference / probs, probs)
        ),
        "this is the gradient for k1, that of KL(π‖π_ref).": (
            lambda probs, reference: _mean_gradient((probs / reference).log(), probs)
        ),
        "each word counts as often as π says it: multiply by its probability.": (
            lambda probs, reference: _k3(probs, reference) - (probs * _k3(probs, reference)).sum()
        ),
        "along the logits, the mean of the price must be subtracted: a score is [a = k] − π(k).": (
            lambda probs, reference: probs * _k3(probs, reference)
        ),
        "q is the reference's probability over the policy's, not the other way around.": (
            lambda probs, reference: _mean_gradient(_k3(reference, probs), probs)
        ),
    },
    drawn=lambda d: {
        "probs": d.tensor(4).softmax(0),
        "reference": d.tensor(4).softmax(0),
    },
)
