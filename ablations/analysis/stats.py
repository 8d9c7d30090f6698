"""Curves to numbers, one per seed; numbers to bootstrap intervals over seeds."""

from collections.abc import Callable, Sequence
from math import lcm
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ablations.training.scores import POINTS

AVERAGED = POINTS // 10  # points to average where one is too noisy: a tenth of the budget
FEWEST = 5  # seeds needed for an interval: with 3, a nominal 95% interval covered 71%
Statistic = Callable[..., Any]  # of samples, along `axis`
RESAMPLES = 5000  # per bootstrap: at n = FEWEST the tail is 0.1%, or five resamples
BATCH = 100  # resamples of curves at a time: fits in the cache, several times as fast as all at once
SINGLE = 1000  # resamples of one number per seed at a time: these are small


def normalized(score: np.ndarray, random: float, ceiling: float) -> np.ndarray:
    """(score - random) / (ceiling - random): 0 is a random policy, 1 as good as the environment allows."""
    return (score - random) / (ceiling - random)


def reached(grid: pd.DataFrame, threshold: float) -> pd.Series:
    """First step at which a seed's mean return over the last AVERAGED points is at least the threshold.

    NaN (censored) if there is none. All arms are averaged over the same number of steps, because an update of short
    segments can hold a single lucky episode, while one of whole episodes is the mean of many.
    """
    means = np.lib.stride_tricks.sliding_window_view(grid.to_numpy(), AVERAGED, axis=1).mean(axis=-1)
    there, ends = means >= threshold, grid.columns.to_numpy()[AVERAGED - 1 :]
    return pd.Series(np.where(there.any(axis=1), ends[there.argmax(axis=1)], np.nan), index=grid.index)


def restricted_mean(reached: pd.Series, budget: float) -> float:
    """mean(min(time, budget)) over seeds: a seed that never got there counts as the whole budget."""
    return float(reached.fillna(budget).clip(upper=budget).mean())


def median_reached(reached: pd.Series) -> float:
    """The step by which half of the seeds got there (the Kaplan-Meier median); NaN if fewer than half did."""
    times = np.sort(reached.to_numpy())  # NaN comes last
    return float(times[(len(times) - 1) // 2])


def share_reached(reached: pd.Series, steps: np.ndarray) -> np.ndarray:
    """Share of all seeds that got there by each step; the others are censored at the budget."""
    share: np.ndarray = (reached.to_numpy()[:, None] <= steps).mean(axis=0)
    return share


def iqm(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Interquartile mean: without the lowest and highest ⌊n/4⌋ values. Agarwal et al. 2021, arXiv:2108.13264."""
    ordered = np.sort(np.moveaxis(values, axis, -1))  # five times as fast as scipy's trim_mean
    cut = ordered.shape[-1] // 4
    middle = ordered[..., cut : ordered.shape[-1] - cut].mean(axis=-1)
    return np.where(np.isnan(ordered[..., -1]), np.nan, middle)[()]  # NaN sorts last and would be cut off


def _bootstrap(
    samples: Sequence[np.ndarray], statistic: Callable[..., np.ndarray], batch: int = BATCH
) -> tuple[np.ndarray, np.ndarray]:
    """95% expanded percentile bootstrap interval over the samples' first axes; NaN with too few values, or a NaN.

    statistic: from which values of each sample were drawn, [batch, n] integers, to [..., batch]. The plain percentile
    interval is too narrow, as if σ were known and estimated with 1/n. With the tail Φ(-t₀.₉₇₅,ₙ₋₁ √(n / (n - 1))) in
    place of 0.025, it becomes Student's interval for the mean of normal values. n is the size of the smallest sample.
    Hesterberg 2015, arXiv:1411.5279, section on the expanded percentile interval.
    """
    from scipy import stats  # takes most of a second to import

    sizes = [len(values) for values in samples]
    if min(sizes) < FEWEST or any(np.isnan(values).any() for values in samples):
        nothing = np.full(samples[0].shape[1:], np.nan)
        return nothing, nothing
    tail = stats.norm.cdf(-stats.t.ppf(0.975, min(sizes) - 1) * (min(sizes) / (min(sizes) - 1)) ** 0.5)
    rng, found = np.random.default_rng(0), []
    for _ in range(RESAMPLES // batch):
        found.append(statistic(*(rng.integers(0, size, (batch, size)) for size in sizes)))
    low, high = np.quantile(np.concatenate(found, axis=-1), [tail, 1 - tail], axis=-1)  # faster than scipy's
    return low, high


def _counts(drawn: np.ndarray, size: int) -> np.ndarray:
    """How often each of the numbers 0 to size - 1 is in each row: [batch, n] to [batch, size]."""
    rows = len(drawn)
    flat = (drawn + size * np.arange(rows)[:, None]).ravel()
    return np.bincount(flat, minlength=rows * size).reshape(rows, size)


def interval(values: np.ndarray, statistic: Statistic = np.mean) -> tuple[np.ndarray, np.ndarray]:
    """95% expanded bootstrap interval over seeds, the first axis; NaN with fewer than FEWEST seeds, or with a NaN.

    Whole rows are resampled together, which keeps the correlation within a learning curve.
    """
    count, batch = len(values), BATCH if values.ndim > 1 else SINGLE
    if statistic is np.mean:  # a product of matrices, up to a hundred times as fast as picking values
        return _bootstrap((values,), lambda drawn: values.T @ _counts(drawn, count).T.astype(float) / count, batch)
    return _bootstrap((values,), lambda drawn: statistic(values.T[..., drawn], axis=-1), batch)


class Aggregate(NamedTuple):
    """A statistic over several environments, with its 95% interval."""

    value: float
    low: float
    high: float


def stratified_interval(groups: Sequence[np.ndarray], statistic: Statistic = iqm) -> Aggregate:
    """A statistic of all environments' pooled normalized scores; seeds are resampled within each environment.

    groups: one array per environment, one value per seed. Environments have equal weights, however many seeds they
    have: each value is repeated until all groups are as long as their least common multiple. Agarwal et al. 2021,
    arXiv:2108.13264.
    """
    size = lcm(*(len(values) for values in groups))

    def together(*drawn: np.ndarray, axis: int) -> np.ndarray:
        level = [np.repeat(values, size // values.shape[axis], axis=axis) for values in drawn]
        value: np.ndarray = statistic(np.concatenate(level, axis=axis), axis=axis)
        return value

    low, high = _bootstrap(
        groups, lambda *drawn: together(*(of[i] for of, i in zip(groups, drawn, strict=True)), axis=-1)
    )
    return Aggregate(float(together(*groups, axis=0)), float(low), float(high))


def improvement(having: np.ndarray, without: np.ndarray) -> float:
    """P(Y > X) + P(Y = X) / 2 for a seed Y of `having` and any seed X of `without`: Mann-Whitney's U / (n m).

    Both have one value per seed; NaN if one is NaN. Agarwal et al. 2021, arXiv:2108.13264.
    """
    if np.isnan(having).any() or np.isnan(without).any():
        return np.nan
    won, tied = (compare(having[:, None], without[None]).mean() for compare in (np.greater, np.equal))
    return float(won + tied / 2)
