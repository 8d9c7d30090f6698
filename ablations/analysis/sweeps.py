"""What a sweep shows: for each value of a number the best that can be had with it, and how wide the good range is."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ablations.analysis.estimates import paired

NEAR = 0.05  # of the range from the worst to the best mean: what still counts as good


class Best(NamedTuple):
    """A value of a number, the mean score at the best of the other numbers, its interval, and those numbers."""

    value: float
    mean: float
    low: float
    high: float
    others: dict[str, float]


def means(runs: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """The mean score of each combination of the varied numbers; NaN if a seed's is."""
    return runs.groupby(list(names)).score.agg(lambda scores: scores.mean(skipna=False))


def best_of_each(runs: pd.DataFrame, names: Sequence[str], name: str) -> list[Best]:
    """For each value of one varied number, the best combination of the others, by its mean score.

    A mean that was chosen as the largest of several is a little too large; with more others, by more.
    """
    others, found = [other for other in names if other != name], list[Best]()
    for value in sorted(runs[name].unique()):
        rows = runs[runs[name] == value]
        scores = (
            {key: cell.score.to_numpy() for key, cell in rows.groupby(others)}
            if others
            else {(): rows.score.to_numpy()}
        )
        best = max(scores, key=lambda key: -np.inf if np.isnan(scores[key]).any() else scores[key].mean())
        estimate = paired(scores[best])
        found.append(
            Best(float(value), estimate.mean, estimate.low, estimate.high, dict(zip(others, best, strict=True)))
        )
    return found


def good_range(found: Sequence[Best], worst: float) -> tuple[float, float]:
    """The smallest and the largest value around the best one whose mean is within NEAR of it, without a gap.

    worst: the score that counts as 0, such as a random policy's.
    """
    level = [best.mean for best in found]
    top = int(np.nanargmax(level))
    enough = level[top] - NEAR * (level[top] - worst)
    low = high = top
    while low > 0 and level[low - 1] >= enough:
        low -= 1
    while high < len(found) - 1 and level[high + 1] >= enough:
        high += 1
    return found[low].value, found[high].value
