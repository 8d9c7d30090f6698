"""From a learning curve to numbers, one value per seed."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tricks.runs.log import late_return

POINTS = 100  # on the common grid of steps


def on_grid(curve: pd.DataFrame, steps: int, diverged: Mapping[int, int]) -> pd.DataFrame:
    """Each seed's return at POINTS equal steps up to the budget: a row per seed, a column per step.

    Linear between updates in which an episode ended, constant before the first and after the last; NaN for a seed
    in which none ended. From the step at which it diverged, a seed counts with its first return, the untrained agent's.
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
    """Area under the curve divided by the budget, which is the mean return over training. One value per seed."""
    return grid.mean(axis=1)


def late(curve: pd.DataFrame, steps: int, diverged: Mapping[int, int]) -> pd.Series:
    """Mean return of the episodes in the last 10% of the budget, one value per seed; NaN if none ended there.

    A seed that diverged counts with its first return, the untrained agent's.
    """
    seeds = pd.Index(curve["seed"].unique())
    first = curve.dropna(subset="return").groupby("seed")["return"].first()
    found = late_return(curve, steps).reindex(seeds)
    return found.where(~seeds.isin(list(diverged)), first.reindex(seeds))
