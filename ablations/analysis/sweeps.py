"""What a sweep shows: for each value of a number the best score that it allows, and how wide the good range is."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ablations.analysis.estimates import LEVEL, holm, paired, unpaired
from ablations.analysis.scales import SCALES

NEAR = 0.05  # a value that loses at most this share of the way from the floor to the best is nearly as good


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


def fixed(runs: pd.DataFrame) -> str:
    """The numbers that had one value in the whole sweep, as in " with gamma=0.9"; empty if there are none."""
    fixed = [f"{name}={runs[name].iloc[0]:g}" for name in _numbers(runs) if name not in varied(runs)]
    return f" with {', '.join(fixed)}" if fixed else ""


def _numbers(runs: pd.DataFrame) -> list[str]:
    return list(runs.loc[:, :"seed"].columns[:-1])  # a sweep's table begins with them


def floor_score(runs: pd.DataFrame) -> float:
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


def told_from_best(runs: pd.DataFrame, name: str) -> dict[float, bool]:
    """Of each value but the best: whether its agents' scores differ from those of the best value.

    Each value is taken at its best others. Welch's t with Holm's correction for the number of values; a value without
    a score is left out. Of fewer than `FEWEST` agents, nothing can be told.
    """
    scores = {}
    for best in best_of_each(runs, name):
        own = (runs[[name, *best.others]] == pd.Series({name: best.value, **best.others})).all(axis=1)
        if best.mean == best.mean:
            scores[best.value] = runs.score[own].to_numpy()
    top = max(scores, key=lambda value: scores[value].mean())
    others = [value for value in scores if value != top]
    p = holm(np.array([unpaired(scores[top], scores[value]).p for value in others]))
    return {value: bool(each < LEVEL) for value, each in zip(others, p, strict=True)}


def best_scores(runs: pd.DataFrame, name: str) -> pd.Series:
    """The best mean score that can be had with each value of a number, by increasing values."""
    return pd.Series({best.value: best.mean for best in best_of_each(runs, name)})


def share_lost(level: pd.Series, floor: float) -> pd.Series:
    """How much of the way from the floor to the best each value loses; all of it where the best is below the floor."""
    way = float(level.max() - floor)
    found: pd.Series = (level.max() - level) / way if way > 0 else (level < level.max()).astype(float)
    return found


def nearly_as_good(level: pd.Series, floor: float) -> list[float]:
    """The values that are nearly as good as the best, and the best itself."""
    return [float(value) for value in level.index[share_lost(level, floor) <= NEAR]]


def good_spans(level: pd.Series, floor: float) -> list[tuple[float, float]]:
    """The values that are nearly as good as the best, as spans of neighbors: the first and the last value of each."""
    good = share_lost(level, floor) <= NEAR
    span = good.ne(good.shift()).cumsum()  # counts on where a span begins and where it ends
    return [(float(own.index[0]), float(own.index[-1])) for _, own in level[good].groupby(span[good])]
