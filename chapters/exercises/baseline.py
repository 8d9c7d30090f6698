"""Exercises of the chapter on the baseline."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise


def row_error(value: Tensor, target: Tensor) -> Tensor:
    """½(V − G)², a seed at a time. value, target [S, B] -> [S, B]."""
    outputs = value.unsqueeze(-1)  # as the net gives them: [S, B, 1]
    losses = torch.stack([0.5 * (output - g).square().mean() for output, g in zip(outputs, target, strict=True)])
    return losses.unsqueeze(1).expand_as(target)


def _right(probs: Tensor, pays: Tensor) -> Tensor:
    square = _square(probs)
    return (probs * square * pays).sum() / (probs * square).sum()


def _square(probs: Tensor) -> Tensor:
    """|∇ log π(a)|² for each action: [A]."""
    return (torch.eye(len(probs)) - probs).square().sum(1)


def _expected(probs: Tensor, pays: Tensor) -> Tensor:
    return (probs * pays).sum()


def _unweighted(probs: Tensor, pays: Tensor) -> Tensor:
    square = _square(probs)
    return (square * pays).sum() / square.sum()


def _length(probs: Tensor, pays: Tensor) -> Tensor:
    length = _square(probs).sqrt()
    return (probs * length * pays).sum() / (probs * length).sum()


def _undivided(probs: Tensor, pays: Tensor) -> Tensor:
    return (probs * _square(probs) * pays).sum()


def _one_component(probs: Tensor, pays: Tensor) -> Tensor:
    square = (1 - probs).square()
    return (probs * square * pays).sum() / (probs * square).sum()


def _plain_mean(probs: Tensor, pays: Tensor) -> Tensor:
    return pays.mean()


check_best_baseline = Exercise(
    _right,
    cases=(
        {"probs": torch.tensor([0.7, 0.2, 0.1]), "pays": torch.tensor([1.0, 2.0, 4.0])},
        {"probs": torch.tensor([1 / 3, 1 / 3, 1 / 3]), "pays": torch.tensor([101.0, 102.0, 104.0])},
        {"probs": torch.tensor([0.05, 0.95]), "pays": torch.tensor([0.0, 1.0])},
    ),
    mistakes={
        "this is E[r]. It is the usual baseline, but not the best: long scores count for more.": _expected,
        "the actions are not weighted by their probabilities: both means are means under π.": _unweighted,
        "the score has a component for every machine, not only for the one that was pulled.": _one_component,
        "this is the mean over machines, not the mean under π.": _plain_mean,
        "the weight is the length of the score, and should be its square: a variance is made of squares.": _length,
        "the numerator is right. Divide it by E[|∇ log π|²], so that the weights sum to 1.": _undivided,
    },
    drawn=lambda d: {"probs": d.tensor(4).softmax(0), "pays": d.tensor(4, low=-5.0, high=5.0)},
)
