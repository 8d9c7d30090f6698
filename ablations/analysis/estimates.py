"""Tests of one arm against another, Holm's correction for their number, and what a second try says about them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ablations.analysis.stats import FEWEST

LEVEL = 0.05  # a p-value below it counts as an effect
Z = 1.959964  # the normal distribution's 97.5% quantile
TINY = 1e-300  # in place of 0 in a denominator


class Estimate(NamedTuple):
    """A mean or a difference of means, its 95% interval, and its two-sided p-value against 0."""

    mean: float
    low: float
    high: float
    p: float


def paired(difference: np.ndarray, more: float = 0.0) -> Estimate:
    """Student's t on two arms' differences, one value per seed; NaN with fewer than FEWEST seeds, or with a NaN.

    more: as in `unpaired`.
    """
    if len(difference) < FEWEST:
        return Estimate(float(difference.mean()), np.nan, np.nan, np.nan)
    mean, error = _mean_and_error(difference)
    return _students(mean, [(error, len(difference) - 1)], more)


def unpaired(having: np.ndarray, without: np.ndarray, more: float = 0.0) -> Estimate:
    """Welch's t on two independent arms, one value per seed; NaN as in `paired`. Welch 1947, Biometrika 34, 28-35.

    more: a variance of the difference that these values do not show. It is taken as known.
    """
    if min(len(having), len(without)) < FEWEST:
        return Estimate(float(having.mean() - without.mean()), np.nan, np.nan, np.nan)
    (upper, first), (lower, second) = _mean_and_error(having), _mean_and_error(without)
    return _students(upper - lower, [(first, len(having) - 1), (second, len(without) - 1)], more)


def _students(mean: float, parts: Sequence[tuple[float, int]], more: float) -> Estimate:
    """The t interval of a mean. Its squared error is the sum of the estimates in `parts`, each with its degrees of
    freedom, and of `more`, which is known.

    A known variance adds degrees of freedom, so with few seeds it could make an interval narrower. It never does here.
    """
    from scipy import special  # a hundred times as fast as stats.t, and the same numbers

    shown = sum(error for error, _ in parts)
    if shown + more == 0:  # t is infinite, or 0 / 0
        return Estimate(mean, mean, mean, float(mean == 0))
    squared = np.array([error for error in (shown, shown + more) if error != 0])
    freedom = squared**2 / max(sum(error**2 / free for error, free in parts), TINY)
    reach = float((special.stdtrit(freedom, 0.975) * squared**0.5).max())
    p = float(2 * special.stdtr(freedom, -abs(mean) / squared**0.5).max())
    return Estimate(mean, mean - reach, mean + reach, p)


def _mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """The mean and its squared error, both exact where all values are alike: rounding would leave about 1e-17."""
    if np.ptp(values) == 0:
        return float(values[0]), 0.0
    return float(values.mean()), float(values.var(ddof=1)) / len(values)


def known(mean: float, variance: float) -> Estimate:
    """The normal interval and test of a difference whose variance is as good as known; NaN if that is NaN."""
    from scipy import special

    error = variance**0.5
    z = abs(mean) / max(error, TINY)
    return Estimate(mean, mean - Z * error, mean + Z * error, float(2 * special.ndtr(-z)) if error == error else np.nan)


def holm(p: np.ndarray) -> np.ndarray:
    """p-values adjusted for their number: the k-th smallest of m times m - k + 1, non-decreasing, at most 1.

    NaN stays NaN and is not counted. Holm 1979, Scandinavian Journal of Statistics 6, 65-70.
    """
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known])]
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)).clip(max=1)
    return adjusted


def second_try(seen: Iterable[int], row: Callable[[int], Mapping[str, Any] | None]) -> pd.DataFrame:
    """What a second try on other seeds says about the effects of a first one, a row each.

    `again`, `again_low` and `again_high` are the second difference and its interval; `confirmed` is 1 if it has the
    same sign with p < LEVEL, else 0. All are NaN where nothing was seen, or nothing tried again. seen: for each effect
    1 if up was seen, -1 if down, else 0. row: the k-th effect's second `difference`, `low`, `high` and `p`, if any.
    """
    rows = []
    for k, sign in enumerate(seen):
        again = row(k) if sign else None
        if again is None:
            rows.append([np.nan] * 4)
        else:
            same = again["p"] < LEVEL and np.sign(again["difference"]) == sign
            rows.append([again["difference"], again["low"], again["high"], float(same)])
    return pd.DataFrame(rows, columns=["again", "again_low", "again_high", "confirmed"])
