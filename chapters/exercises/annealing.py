"""Exercises of the chapter on annealing."""

from torch import Tensor

from chapters.book.exercise import Exercise

MINIBATCHES = 4


def decay_in_steps(start: Tensor, progress: Tensor) -> Tensor:
    """x falls linearly with the number of minibatches taken. progress [S] is the share of the budget used."""
    taken = progress * MINIBATCHES
    return start * (1 - taken).clamp(min=0)


def _right(start: float, update: int, updates: int) -> float:
    return start * (1 - update / updates)


check_rate = Exercise(
    _right,
    cases=(
        {"start": 0.4, "update": 0, "updates": 4},
        {"start": 0.4, "update": 3, "updates": 4},
        {"start": 2.0, "update": 1, "updates": 2},
        {"start": 0.2, "update": 49, "updates": 98},
    ),
    mistakes={
        "the last update, number N − 1, gets 0, which wastes its batch. Divide by N.": (
            lambda start, update, updates: start * (1 - update / (updates - 1))
        ),
        "the first update is number 0 and gets the full start value; yours is one update ahead.": (
            lambda start, update, updates: start * (1 - (update + 1) / updates)
        ),
        "`//` drops the fraction, so nothing ever falls. A share needs `/`.": (
            lambda start, update, updates: start * (1 - update // updates)
        ),
        "it rises. At update 0 none of the budget has been used, and the rate is the start value.": (
            lambda start, update, updates: start * update / updates
        ),
        "the share is subtracted from the start value. It's a share *of* it: multiply.": (
            lambda start, update, updates: start - update / updates
        ),
    },
    drawn=lambda d: {"start": d.number(0.1, 2.0), "update": d.whole(1, 9), "updates": d.whole(10, 99)},
)
