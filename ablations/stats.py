"""From curves to numbers: area under the curve, last 10%, share solved, each with its interval over seeds."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from tricks.core.log import late_return

POINTS = 100  # of the common grid of steps
FEWEST = 5  # seeds that an interval needs: with 3, a nominal 95% interval covered 71%


def on_grid(curve: pd.DataFrame, steps: int, diverged: dict[int, int]) -> pd.DataFrame:
    """Each seed's return at POINTS equal steps up to the budget: a row per seed, a column per step.

    Linear between updates in which an episode ended, constant before the first and after the last; NaN for a seed
    in which none ended. A seed that diverged counts from there on with its very first return, the untrained agent's.
    """
    grid = np.linspace(steps / POINTS, steps, POINTS)
    rows = {}
    for name, part in curve.groupby("seed"):
        seed, ended = int(str(name)), part.dropna(subset="return")
        row = np.interp(grid, ended["step"], ended["return"]) if len(ended) else np.full(POINTS, np.nan)
        if seed in diverged and len(ended):
            row[grid >= diverged[seed]] = ended["return"].iloc[0]
        rows[seed] = row
    return pd.DataFrame.from_dict(rows, orient="index", columns=grid)


def area(grid: pd.DataFrame) -> pd.Series:
    """Area under the curve divided by the budget: the mean return over training. A value per seed."""
    return grid.mean(axis=1)


def late(curve: pd.DataFrame, steps: int, diverged: dict[int, int]) -> pd.Series:
    """Mean return of the episodes of the last 10% of the budget, a value per seed; NaN if none ended there.

    A seed that diverged counts with its very first return, the untrained agent's.
    """
    seeds = pd.Index(curve["seed"].unique())
    first = curve.dropna(subset="return").groupby("seed")["return"].first()
    found = late_return(curve, steps).reindex(seeds)
    return found.where(~seeds.isin(list(diverged)), first.reindex(seeds))


def paired_interval(difference: np.ndarray) -> tuple[float, float]:
    """95% Student's t interval of the mean difference of two arms, a value a seed; NaN with fewer than FEWEST seeds."""
    from scipy import stats

    count = len(difference)
    if count < FEWEST:
        return np.nan, np.nan
    reach = stats.t.ppf(0.975, count - 1) * difference.std(ddof=1) / count**0.5
    return float(difference.mean() - reach), float(difference.mean() + reach)


def interval(values: np.ndarray, statistic: Callable = np.mean) -> tuple[np.ndarray, np.ndarray]:
    """95% percentile bootstrap interval over seeds, the first axis; NaN with fewer than FEWEST seeds, or with a NaN.

    Whole rows are resampled together, so that for curves the correlation within a run stays.
    """
    from scipy import stats  # takes most of a second to import

    if len(values) < FEWEST or np.isnan(values).any():
        nothing = np.full(values.shape[1:], np.nan)
        return nothing, nothing
    bootstrap = stats.bootstrap(
        (values,), statistic, axis=0, vectorized=True, n_resamples=2000, method="percentile", rng=0
    )
    return bootstrap.confidence_interval.low, bootstrap.confidence_interval.high
