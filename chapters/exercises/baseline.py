"""Exercises of the chapter on the baseline."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise


def row_error(value: Tensor, target: Tensor) -> Tensor:
    """½(V − G)², a seed at a time. value, target [S, B] -> [S, B]."""
    outputs = value.unsqueeze(-1)  # as the net gives them: [S, B, 1]
    losses = torch.stack([0.5 * (output - g).square().mean() for output, g in zip(outputs, target, strict=True)])
    return losses.unsqueeze(1).expand_as(target)


def _square(probs: Tensor) -> Tensor:
    """|∇ log π(a)|² for each action: [A]."""
    return (torch.eye(len(probs)) - probs).square().sum(1)


def _mean(pays: Tensor, weights: Tensor) -> Tensor:
    return (weights * pays).sum() / weights.sum()


check_best_baseline = Exercise(
    lambda probs, pays: _mean(pays, probs * _square(probs)),
    cases=(
        {"probs": torch.tensor([0.7, 0.2, 0.1]), "pays": torch.tensor([1.0, 2.0, 4.0])},
        {"probs": torch.tensor([1 / 3, 1 / 3, 1 / 3]), "pays": torch.tensor([101.0, 102.0, 104.0])},
        {"probs": torch.tensor([0.05, 0.95]), "pays": torch.tensor([0.0, 1.0])},
    ),
    mistakes={
        "this is E[r]. It is the usual baseline, but not the best: long scores count for more.": (
            lambda probs, pays: (probs * pays).sum()
        ),
        "the actions are not weighted by their probabilities: both means are means under π.": (
            lambda probs, pays: _mean(pays, _square(probs))
        ),
        "the score has a component for every machine, not only for the one that was pulled.": (
            lambda probs, pays: _mean(pays, probs * (1 - probs).square())
        ),
        "this is the mean over machines, not the mean under π.": lambda probs, pays: pays.mean(),
        "the weight is the length of the score, and should be its square: a variance is made of squares.": (
            lambda probs, pays: _mean(pays, probs * _square(probs).sqrt())
        ),
        "the numerator is right. Divide it by E[|∇ log π|²], so that the weights sum to 1.": (
            lambda probs, pays: (probs * _square(probs) * pays).sum()
        ),
    },
    drawn=lambda d: {"probs": d.tensor(4).softmax(0), "pays": d.tensor(4, low=-5.0, high=5.0)},
)
