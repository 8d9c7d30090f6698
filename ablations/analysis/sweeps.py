"""What a sweep shows: for each value of a number the best that can be had with it, and how wide the good range is."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ablations.analysis.estimates import paired
from ablations.analysis.scales import SCALES

NEAR = 0.05  # how much of the way from the worst score to the best may be lost where a value is nearly as good


class Best(NamedTuple):
    """A value of a number, the mean score at the best of the other numbers, its interval, and those numbers."""

    value: float
    mean: float
    low: float
    high: float
    others: dict[str, float]


def varied(runs: pd.DataFrame) -> list[str]:
    """The numbers that a sweep varied; if each has one value, all of them."""
    return [name for name in _numbers(runs) if runs[name].nunique() > 1] or _numbers(runs)


def held(runs: pd.DataFrame) -> str:
    """The numbers that had one value in the whole sweep, as in " with gamma=0.9"; empty if there are none."""
    fixed = [f"{name}={runs[name].iloc[0]:g}" for name in _numbers(runs) if name not in varied(runs)]
    return f" with {', '.join(fixed)}" if fixed else ""


def _numbers(runs: pd.DataFrame) -> list[str]:
    return list(runs.loc[:, :"seed"].columns[:-1])  # a sweep's table begins with them


def worst_score(runs: pd.DataFrame) -> float:
    """The score that counts as 0: a random policy's if it is known, else that of the worst combination."""
    env = str(runs.env.iloc[0])
    return SCALES[env].random if env in SCALES else float(means(runs, varied(runs)).min())


def means(runs: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """The mean score of each combination of the varied numbers; NaN if a seed's is."""
    return runs.groupby(list(names)).score.agg(lambda scores: scores.mean(skipna=False))


def best_of_each(runs: pd.DataFrame, name: str) -> list[Best]:
    """For each value of one varied number, the best combination of the others, by its mean score.

    A mean that was chosen as the largest of several is a little too large; with more others, by more.
    """
    others, found = [other for other in varied(runs) if other != name], list[Best]()
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


def good_range(level: pd.Series, worst: float) -> tuple[float, float]:
    """The smallest and the largest value around the best one whose mean is nearly as good, without a gap.

    level: the mean at each value, by increasing values. worst: the score that counts as 0, such as a random policy's.
    """
    least, top = level.max() - NEAR * max(level.max() - worst, 0), level.index.get_loc(level.idxmax())
    enough = level >= least
    below, above = enough[top::-1], enough[top:]
    return float(below[below.cummin()].index[-1]), float(above[above.cummin()].index[-1])
