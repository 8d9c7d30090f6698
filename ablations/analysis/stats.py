"""Curves to numbers, one per seed; intervals over seeds; tests of one arm against another, and Holm's correction."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ablations.training.scores import POINTS

AVERAGED = POINTS // 10  # points to average where one is too noisy: a tenth of the budget
FEWEST = 5  # seeds needed for an interval: with 3, a nominal 95% interval covered 71%
RESAMPLES = 5000  # per bootstrap: at n = FEWEST the tail is 0.1%, or five resamples
BATCH = 100  # resamples at a time: of curves, so many fit in the cache, several times as fast as all at once


def normalized(score: np.ndarray, random: float, ceiling: float) -> np.ndarray:
    """(score - random) / (ceiling - random): 0 is a random policy, 1 as good as the environment allows."""
    return (score - random) / (ceiling - random)


def reached(grid: pd.DataFrame, threshold: float) -> pd.Series:
    """First step at which a seed's mean return over the last AVERAGED points is at least the threshold; NaN: none.

    All arms are averaged over the same number of steps, because an update of short segments can hold a single lucky
    episode, while one of whole episodes is the mean of many.
    """
    means = np.lib.stride_tricks.sliding_window_view(grid.to_numpy(), AVERAGED, axis=1).mean(axis=-1)
    there, ends = means >= threshold, grid.columns.to_numpy()[AVERAGED - 1 :]
    return pd.Series(np.where(there.any(axis=1), ends[there.argmax(axis=1)], np.nan), index=grid.index)


def median_reached(reached: pd.Series) -> float:
    """The step by which half of the seeds got there (the Kaplan-Meier median); NaN if fewer than half did."""
    times = np.sort(reached.to_numpy())  # NaN comes last
    return float(times[(len(times) - 1) // 2])


def iqm(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Interquartile mean: without the lowest and highest ⌊n/4⌋ values. Agarwal et al. 2021, arXiv:2108.13264."""
    ordered = np.sort(np.moveaxis(values, axis, -1))  # five times as fast as scipy's trim_mean
    cut = ordered.shape[-1] // 4
    middle = ordered[..., cut : ordered.shape[-1] - cut].mean(axis=-1)
    return np.where(np.isnan(ordered[..., -1]), np.nan, middle)[()]  # NaN sorts last and would be cut off


def interval(values: np.ndarray, statistic: Callable[..., Any] = np.mean) -> tuple[np.ndarray, np.ndarray]:
    """95% expanded bootstrap interval over seeds, the first axis; NaN with fewer than FEWEST seeds, or with a NaN.

    Whole rows are resampled together, which keeps the correlation within a learning curve. The plain percentile
    interval is too narrow, as if σ were known and estimated with 1/n. With the tail Φ(-t₀.₉₇₅,ₙ₋₁ √(n / (n - 1))) in
    place of 0.025, it becomes Student's interval for the mean of n normal values. Hesterberg 2015, arXiv:1411.5279,
    section on the expanded percentile interval. statistic: of samples, along `axis`.
    """
    from scipy import stats  # takes most of a second to import

    count = len(values)
    if count < FEWEST or np.isnan(values).any():
        nothing = np.full(values.shape[1:], np.nan)
        return nothing, nothing
    tail = stats.norm.cdf(-stats.t.ppf(0.975, count - 1) * (count / (count - 1)) ** 0.5)
    rng, found, row = np.random.default_rng(0), [], count * np.arange(BATCH)[:, None]
    for _ in range(RESAMPLES // BATCH):
        drawn = rng.integers(0, count, (BATCH, count))
        if statistic is np.mean:  # a product of matrices, up to a hundred times as fast as picking values
            times = np.bincount((drawn + row).ravel(), minlength=BATCH * count).reshape(BATCH, count)
            found.append(values.T @ times.T.astype(float) / count)
        else:
            found.append(statistic(values.T[..., drawn], axis=-1))
    low, high = np.quantile(np.concatenate(found, axis=-1), [tail, 1 - tail], axis=-1)  # faster than scipy's
    return low, high


def improvement(having: np.ndarray, without: np.ndarray) -> float:
    """P(Y > X) + P(Y = X) / 2 for a seed Y of `having` and any seed X of `without`: Mann-Whitney's U / (n m).

    Both have one value per seed; NaN if one is NaN. Agarwal et al. 2021, arXiv:2108.13264.
    """
    return float((np.sign(having[:, None] - without[None]).mean() + 1) / 2)


LEVEL = 0.05  # a p-value below it counts as an effect
Z = 1.959964  # the normal distribution's 97.5% quantile
TINY = 1e-300  # in place of 0 in a denominator


class Estimate(NamedTuple):
    """A mean or a difference of means, its interval (of 95% unless told otherwise), and its two-sided p-value."""

    mean: float
    low: float
    high: float
    p: float


def paired(difference: np.ndarray, more: float = 0.0, level: float = LEVEL) -> Estimate:
    """Student's t on two arms' differences, one value per seed; NaN, `more` and `level` as in `unpaired`."""
    return _students([difference], more, level)


def unpaired(having: np.ndarray, without: np.ndarray, more: float = 0.0, level: float = LEVEL) -> Estimate:
    """Welch's t on two independent arms, one value per seed; NaN with fewer than FEWEST seeds in an arm, or with a NaN.

    more: a variance of the difference that these values do not show. It is taken as known. level: how often the
    interval may miss, if less than LEVEL; p is then larger in proportion. Welch 1947, Biometrika 34, 28-35.
    """
    return _students([having, without], more, level)


def _students(arms: Sequence[np.ndarray], more: float, level: float) -> Estimate:
    """The t interval of an arm's mean, or of the first arm's minus the second's. `more` adds to its squared error.

    A known variance adds degrees of freedom, so with few seeds it could make an interval narrower. It never does here.
    """
    from scipy import special  # a hundred times as fast as stats.t, and the same numbers

    if min(map(len, arms)) < FEWEST:
        first, *other = (float(values.mean()) for values in arms)
        return Estimate(first - sum(other), np.nan, np.nan, np.nan)
    (first, *other), errors = zip(*map(_mean_and_error, arms), strict=True)
    mean, shown = first - sum(other), sum(errors)
    if shown + more == 0:  # t is infinite, or 0 / 0
        return Estimate(mean, mean, mean, float(mean == 0))
    squared = np.array([error for error in (shown, shown + more) if error != 0])
    parts = (error**2 / (len(values) - 1) for error, values in zip(errors, arms, strict=True))
    freedom = squared**2 / max(sum(parts), TINY)
    reach = float((special.stdtrit(freedom, 1 - level / 2) * squared**0.5).max())
    p = 2 * special.stdtr(freedom, -abs(mean) / squared**0.5).max() * (LEVEL / level)
    return Estimate(mean, mean - reach, mean + reach, float(np.minimum(p, 1)))  # NaN stays NaN


def _mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """The mean and its squared error, both exact where all values are alike: rounding would leave about 1e-17."""
    if np.ptp(values) == 0:
        return float(values[0]), 0.0
    return float(values.mean()), float(values.var(ddof=1)) / len(values)


def within(low: Any, high: Any, margin: Any) -> Any:
    """Whether an interval (or each of many) lies within ±margin, its ends excluded; not if any of these is NaN."""
    return (low > -margin) & (high < margin)


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
    order, adjusted = known[np.argsort(p[known])], np.full(len(p), np.nan)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)).clip(max=1)
    return adjusted


def exaggeration(difference: float, error: float, level: float = LEVEL) -> float:
    """By how much detected estimates exceed the truth on average if the truth is this difference: E|d̂| / |d| ≥ 1.

    The error is as good as known, so d̂ is normal and detected where |d̂| > z·error. NaN for no difference or no error.
    Gelman & Carlin 2014 (Perspectives on Psychological Science 9, 641-651) call it the type M error.
    """
    from scipy import special

    if not error > 0 or not abs(difference) > 0:
        return np.nan
    z, ratio = (Z if level == LEVEL else float(special.ndtri(1 - level / 2))), abs(difference) / error
    above, below = ratio - z, -ratio - z
    power = special.ndtr(above) + special.ndtr(below)
    density = (np.exp(-(above**2) / 2) + np.exp(-(below**2) / 2)) / (2 * np.pi) ** 0.5
    whole = ratio * (special.ndtr(above) - special.ndtr(below)) + density
    return float(whole / power / ratio)


def second_try(
    seen: pd.Series, again: Sequence[Mapping[str, Any] | None], margin: pd.Series | float = np.nan
) -> pd.DataFrame:
    """What a second try on other seeds says about the effects of a first one, a row each.

    `again`, `again_low` and `again_high` are the second difference and its interval; `confirmed` is 1 if it has the
    same sign with p < LEVEL, else 0. All are NaN where nothing was seen, or nothing tried again. seen: for each effect
    1 if up was seen, -1 if down, else 0. again: each effect's second `difference`, `low`, `high` and `p`, if any.
    margin: of an effect that was certainly within this margin, it is confirmed if it is so again; NaN: it was not.
    """
    rows, margins = [row or {} for row in again], pd.Series(margin, seen.index)
    tried = (seen.ne(0) | margins.notna()) & np.array([row is not None for row in again])
    later = pd.DataFrame(rows, seen.index, columns=["difference", "low", "high", "p"]).astype(float).where(tried)
    same = later.p.lt(LEVEL) & np.sign(later.difference).eq(seen)
    small = within(later.low, later.high, margins)
    found = later.drop(columns="p").set_axis(["again", "again_low", "again_high"], axis=1)
    return found.assign(confirmed=(same | small).astype(float).where(tried))
