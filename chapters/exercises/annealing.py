"""Exercises of the chapter on annealing."""

from torch import Tensor

from chapters.book.exercise import Exercise

MINIBATCHES = 4


def decay_by_minibatches(start: Tensor, progress: Tensor) -> Tensor:
    """x falls linearly with the number of minibatches taken. progress [S] is the share of the budget used."""
    taken = progress * MINIBATCHES
    return start * (1 - taken).clamp(min=0)


def _right(start: float, update: int, updates: int) -> float:
    return start * (1 - update / updates)


def _zero_at_last(start: float, update: int, updates: int) -> float:
    return start * (1 - update / (updates - 1))


def _one_too_early(start: float, update: int, updates: int) -> float:
    return start * (1 - (update + 1) / updates)


def _whole_numbers(start: float, update: int, updates: int) -> float:
    return start * (1 - update // updates)


def _rising(start: float, update: int, updates: int) -> float:
    return start * update / updates


def _not_in_proportion(start: float, update: int, updates: int) -> float:
    return start - update / updates


check_rate = Exercise(
    _right,
    cases=(
        {"start": 0.4, "update": 0, "updates": 4},
        {"start": 0.4, "update": 3, "updates": 4},
        {"start": 2.0, "update": 1, "updates": 2},
        {"start": 0.2, "update": 49, "updates": 98},
    ),
    mistakes={
        "the last update, number N − 1, gets 0, which wastes its batch. Divide by N.": _zero_at_last,
        "the first update is number 0 and gets the full start value; yours is one update ahead.": _one_too_early,
        "`//` drops the fraction, so nothing ever falls. A share needs `/`.": _whole_numbers,
        "it rises. At update 0 none of the budget has been used, and the rate is the start value.": _rising,
        "the share is subtracted from the start value. It's a share *of* it: multiply.": _not_in_proportion,
    },
    drawn=lambda d: {"start": d.number(0.1, 2.0), "update": d.whole(1, 9), "updates": d.whole(10, 99)},
)
