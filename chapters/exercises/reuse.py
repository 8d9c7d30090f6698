"""Exercises of the chapter on reuse."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise


def ratio_in_place(log_prob: Tensor, old_log_prob: Tensor) -> Tensor:
    """ρ = π(a|s)/π_old(a|s). log_prob, old_log_prob [S, B] -> [S, B]."""
    with torch.no_grad():  # what the policy said before the step is a constant
        old_log_prob = log_prob.clone()
    return (log_prob - old_log_prob).exp()


def _right(log_prob: Tensor, old_log_prob: Tensor, reward: Tensor) -> Tensor:
    return ((log_prob - old_log_prob).exp() * reward).mean()


check_estimate = Exercise(
    _right,
    cases=(
        {
            "log_prob": torch.tensor([0.8, 0.2]).log(),
            "old_log_prob": torch.tensor([0.5, 0.5]).log(),
            "reward": torch.tensor([1.0, 3.0]),
        },
        {
            "log_prob": torch.tensor([0.1, 0.1, 0.6, 0.3]).log(),
            "old_log_prob": torch.tensor([0.2, 0.2, 0.3, 0.5]).log(),
            "reward": torch.tensor([1.0, 2.0, 4.0, -1.0]),
        },
        {"log_prob": torch.tensor([-0.1]), "old_log_prob": torch.tensor([-3.1]), "reward": torch.tensor([2.0])},
    ),
    mistakes={
        "the ratio is upside down. A pull that the new policy would make more often must count for more.": (
            lambda new, old, reward: _right(old, new, reward)
        ),
        "this weights by the logarithm of the ratio. An exp is missing.": (
            lambda new, old, reward: ((new - old) * reward).mean()
        ),
        "a ratio of logarithms is not the ratio of probabilities: subtract the logarithms, then exp.": (
            lambda new, old, reward: (new / old * reward).mean()
        ),
        "this is what the old policy earned. Weight each pull by its ratio.": (lambda new, old, reward: reward.mean()),
        "this is the sum; an expectation is the mean over the pulls.": (
            lambda new, old, reward: ((new - old).exp() * reward).sum()
        ),
        "the pulls were drawn from the old policy, so divide its probability out.": (
            lambda new, old, reward: (new.exp() * reward).mean()
        ),
        "this divides by the sum of the ratios instead of the number of pulls. It is a known variant, with less "
        "variance and a little bias. The derivation has the plain mean.": (
            lambda new, old, reward: ((new - old).softmax(0) * reward).sum()
        ),
    },
    drawn=lambda d: {
        "log_prob": d.tensor(5, low=-3.0, high=-0.1),
        "old_log_prob": d.tensor(5, low=-3.0, high=-0.1),
        "reward": d.tensor(5),
    },
    gradients=("log_prob",),
)
