"""Exercises of the chapter on annealing."""

from torch import Tensor

from chapters.book.exercise import Exercise

MINIBATCHES = 4


def decay_in_steps(start: Tensor, progress: Tensor) -> Tensor:
    """x falls linearly with the number of minibatches taken. progress [S] is the share of the budget used."""
    taken = progress * MINIBATCHES
    return start * (1 - taken).clamp(min=0)


def _right(start: float, end: float, update: int, updates: int) -> float:
    return start + (end - start) * update / updates


check_rate = Exercise(
    _right,
    cases=(
        {"start": 0.4, "end": 0.2, "update": 0, "updates": 4},
        {"start": 0.4, "end": 0.2, "update": 3, "updates": 4},
        {"start": 2.0, "end": 0.5, "update": 1, "updates": 2},
        {"start": 0.2, "end": 0.0, "update": 49, "updates": 98},
    ),
    mistakes={
        "the last update, number N − 1, already gets the end value, which belongs to number N. Divide by N.": (
            lambda start, end, update, updates: _right(start, end, update, updates - 1)
        ),
        "the first update is number 0 and gets the full start value; yours is one update ahead.": (
            lambda start, end, update, updates: _right(start, end, update + 1, updates)
        ),
        "`//` drops the fraction, so nothing ever falls. A share needs `/`.": (
            lambda start, end, update, updates: start + (end - start) * (update // updates)
        ),
        "it goes from the end value to the start value. At update 0 none of the budget has been used.": (
            lambda start, end, update, updates: _right(end, start, update, updates)
        ),
        "this is the line to 0. The distance to fall is start − end.": (
            lambda start, end, update, updates: _right(start, 0.0, update, updates)
        ),
        "the end value is added to the line to 0, so the first rate is too large.": (
            lambda start, end, update, updates: _right(start, 0.0, update, updates) + end
        ),
        "the share is subtracted from the start value. It's a share *of* the distance: multiply.": (
            lambda start, end, update, updates: start - update / updates
        ),
    },
    drawn=lambda d: {
        "start": d.number(0.5, 2.0),
        "end": d.number(0.0, 0.4),
        "update": d.whole(1, 9),
        "updates": d.whole(10, 99),
    },
)
