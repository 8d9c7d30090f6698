"""Exercises of the chapter on continuous actions."""

import math

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.core.policies import Family
from tricks.core.rollout import Batch, Policy
from tricks.reuse import old_log_prob
from tricks.squash import log_slope

LIMIT = 2.0  # N·m, of Pendulum's motor


def log_prob_of(policy: Policy, family: Family, batch: Batch) -> Tensor:
    """log π(a) of what the motor did, under the policy that played. -> [S, B]."""
    played = Batch(**batch.columns)
    played.action = batch.action.clamp(-LIMIT, LIMIT)
    return old_log_prob(policy, family, played)


def _right(mean: Tensor, log_std: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
    z = (action - mean) / log_std.exp()
    return z / log_std.exp(), z.square() - 1


check_scores = Exercise(
    _right,
    cases=(
        {
            "mean": torch.tensor([[1.0, -1.0]]),
            "log_std": torch.tensor([[0.5, 2.0]]).log(),
            "action": torch.tensor([[2.0, 1.0]]),
        },
        {
            "mean": torch.tensor([[0.0], [3.0]]),
            "log_std": torch.tensor([[-3.0], [1.5]]),
            "action": torch.tensor([[0.1], [-2.0]]),
        },
        {
            "mean": torch.tensor([[0.2, 0.0, -0.4]]),
            "log_std": torch.tensor([[-0.7, 0.3, 0.9]]),
            "action": torch.tensor([[0.0, 5.0, -0.4]]),
        },
    ),
    mistakes={
        "there is one number per row. The scores of different parameters don't add up: keep every dimension.": (
            lambda m, s, a: tuple(score.sum(-1) for score in _right(m, s, a))
        ),
        "the first has the wrong sign: if an action was good, its mean should move toward it.": (
            lambda m, s, a: (-_right(m, s, a)[0], _right(m, s, a)[1])
        ),
        "the first is z itself. How much does z change when the mean moves by 1?": (
            lambda m, s, a: ((a - m) / s.exp(), _right(m, s, a)[1])
        ),
        "the second is never negative, so σ could only grow. Which other term of log π contains log σ?": (
            lambda m, s, a: (_right(m, s, a)[0], _right(m, s, a)[1] + 1)
        ),
        "the second is the score of σ. The parameter is log σ: what does the chain rule add?": (
            lambda m, s, a: (_right(m, s, a)[0], _right(m, s, a)[1] / s.exp())
        ),
        "the second argument is the logarithm of σ. Take exp before you divide by it.": (
            lambda m, s, a: ((a - m) / s.square(), ((a - m) / s).square() - 1)
        ),
    },
    drawn=lambda d: {"mean": d.tensor(3, 2), "log_std": d.tensor(3, 2, low=-1.0, high=1.0), "action": d.tensor(3, 2)},
)


check_log_slope = Exercise(
    log_slope,
    cases=({"u": torch.tensor([0.0, 1.0, -1.5])}, {"u": torch.tensor([30.0, -30.0, 8.0])}),
    mistakes={
        "far from 0, 1 − tanh² rounds to 0, and its logarithm is −∞. Don't compute the difference.": (
            lambda u: torch.log(1 - u.tanh() ** 2)
        ),
        "an ε inside the logarithm keeps it finite, but wrong: at u = 30 it should be −58.6.": (
            lambda u: torch.log(1 - u.tanh() ** 2 + 1e-6)
        ),
        "this is log(1/cosh u), half of it: the slope is 1/cosh² u.": lambda u: log_slope(u) / 2,
        "2·log 2 is missing: at u = 0 the slope is 1, and its logarithm 0.": lambda u: log_slope(u) - 2 * math.log(2),
        "softplus(−2u) is missing. Without it, this is only right for large u > 0.": lambda u: 2 * (math.log(2) - u),
        "the slope is 1 − tanh² u, not 1 − tanh u.": lambda u: torch.log(1 - u.tanh()),
        "the sign is wrong: the slope is at most 1, so its logarithm is at most 0.": lambda u: -log_slope(u),
        "this is the slope. The correction is its logarithm.": lambda u: log_slope(u).exp(),
    },
    drawn=lambda d: {"u": d.tensor(6, low=-9.0, high=9.0)},
    gradients=("u",),
)
