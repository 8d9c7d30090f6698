"""Exercises of the chapter on PopArt."""

import torch

from chapters.book.exercise import Exercise
from tricks.core.moments import ReturnStats
from tricks.core.nets import Net

Pair = tuple[float, float]


@torch.no_grad()
def rescale_head_(net: Net, old: ReturnStats, new: ReturnStats) -> None:
    """W and b for the new statistics, in place, per seed."""
    weight, bias = net.layers[-1]
    (mu, sigma), (new_mu, new_sigma) = ((s.mean.view(-1, 1, 1), s.std.view(-1, 1, 1)) for s in (old, new))
    weight.copy_(weight * sigma / new_sigma)
    bias.copy_(bias + (mu - new_mu) / new_sigma)


def _right(weight: float, bias: float, old: Pair, new: Pair) -> Pair:
    (mu, sigma), (new_mu, new_sigma) = old, new
    return weight * sigma / new_sigma, (sigma * bias + mu - new_mu) / new_sigma


check_rescaled = Exercise(
    _right,
    cases=(
        {"weight": 3.0, "bias": 1.0, "old": (10.0, 2.0), "new": (40.0, 8.0)},
        {"weight": -1.0, "bias": 0.5, "old": (0.0, 1.0), "new": (5.0, 0.1)},
        {"weight": 2.0, "bias": -2.0, "old": (-3.0, 4.0), "new": (-3.0, 5.0)},
    ),
    mistakes={
        "W is scaled the wrong way. If σ grows, the same V is a smaller number of standard deviations.": (
            lambda w, b, old, new: (w * new[1] / old[1], _right(w, b, old, new)[1])
        ),
        "W has not changed; if σ changes, it must.": (lambda w, b, old, new: (w, _right(w, b, old, new)[1])),
        "the old bias was measured in old standard deviations: in units of reward it is σb, not σ′b.": (
            lambda w, b, old, new: (_right(w, b, old, new)[0], b + (old[0] - new[0]) / new[1])
        ),
        "the means are missing: when only μ moves, b must move the other way.": (
            lambda w, b, old, new: (w * old[1] / new[1], b * old[1] / new[1])
        ),
        "the means are the wrong way around: what μ gains, b must lose.": (
            lambda w, b, old, new: _right(w, b, (new[0], old[1]), (old[0], new[1]))
        ),
        "μ − μ′ is in units of reward, and b is not: divide it by σ′.": (
            lambda w, b, old, new: (w * old[1] / new[1], b * old[1] / new[1] + old[0] - new[0])
        ),
    },
    drawn=lambda d: {
        "weight": d.number(-3.0, 3.0),
        "bias": d.number(-3.0, 3.0),
        "old": (d.number(-9.0, 9.0), d.number(0.5, 5.0)),
        "new": (d.number(-9.0, 9.0), d.number(0.5, 5.0)),
    },
)
