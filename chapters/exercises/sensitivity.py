"""Exercises of the chapter on sensitivity."""

import numpy as np
from scipy import stats

from chapters.book.exercise import Exercise

NEAR = 0.05


def pooled_interval(without: np.ndarray, having: np.ndarray) -> tuple[float, float, float]:
    """A trick's effect averaged over all learning rates, and its 95% interval. [rates, seeds] each."""
    found = stats.ttest_ind(having.ravel(), without.ravel(), equal_var=False)
    low, high = found.confidence_interval()
    return float(having.mean() - without.mean()), float(low), float(high)


def _walk(scores: np.ndarray, enough: float) -> tuple[int, int]:
    """The range around the best without a gap whose scores are at least `enough`."""
    low = high = int(np.argmax(scores))
    while low > 0 and scores[low - 1] >= enough:
        low -= 1
    while high < len(scores) - 1 and scores[high + 1] >= enough:
        high += 1
    return low, high


def _enough(scores: np.ndarray, floor: float) -> float:
    return float(scores.max() - NEAR * (scores.max() - floor))


def _right(scores: np.ndarray, floor: float) -> tuple[int, int]:
    return _walk(scores, _enough(scores, floor))


check_good_range = Exercise(
    _right,
    cases=(
        {"scores": np.array([320.0, 380.0, 395.0, 390.0, 300.0, 385.0]), "floor": 22.0},
        {"scores": np.array([-480.0, -100.0, -95.0, -85.0, -104.0, -120.0]), "floor": -500.0},
        {"scores": np.array([400.0, 398.0, 390.0, 384.0, 383.0]), "floor": 22.0},
    ),
    mistakes={
        "this jumps over a bad value in between. Start at the best, stop at the first one that is too low.": (
            lambda scores, floor: tuple(np.flatnonzero(scores >= _enough(scores, floor))[[0, -1]])
        ),
        "this is 5% of the best score. Count from the floor: −100 has no useful 5% of its own.": (
            lambda scores, floor: _walk(scores, float(scores.max() - NEAR * abs(scores.max())))
        ),
        "the worst score of the sweep is not the floor: other values would move it.": (
            lambda scores, floor: _walk(scores, _enough(scores, float(scores.min())))
        ),
        "the range also reaches to the left of the best.": (
            lambda scores, floor: (int(np.argmax(scores)), _right(scores, floor)[1])
        ),
        "the second index is one past the range: return the last index that is good.": (
            lambda scores, floor: (_right(scores, floor)[0], _right(scores, floor)[1] + 1)
        ),
    },
    drawn=lambda d: {"scores": 100 - d.rng.exponential(4.0, 7), "floor": d.number(0.0, 40.0)},
)
