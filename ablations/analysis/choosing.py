"""How uncertain the choice of a learning rate is, and what that adds to the error of a result.

Had other tuning seeds been drawn, another rate might have been chosen, with another mean. That happens often: the two
best rates of an arm are usually closer together than their standard errors. An interval over the reported seeds alone
does not contain it, because they all ran at the one rate that was chosen.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from ablations.training.rate_table import FINALISTS, best_of, rows_of, split

RESAMPLES = 4000


@cache
def choice_variance(env: str, steps: int, given: str, tricks: str, lr: float) -> float:
    """The variance of an arm's mean area over the choice of its rate, in squared units of return.

    NaN if the scores of the tuning seeds are not known, or if they would not have chosen lr, the rate that the arm ran
    at. given and tricks as for `rows_of`.
    """
    mine = rows_of(env, steps, given, tricks)
    if mine.empty or mine.areas.eq("").any() or best_of(mine) != lr:
        return np.nan
    areas = areas_of(mine)
    means = np.array([each.mean() for each in areas])
    return float(np.var(means[choices(areas)]))


def areas_of(rows: pd.DataFrame) -> list[np.ndarray]:
    """The scores of an arm's tuning seeds, one array per row of the table; empty arrays if they were not kept."""
    return [split(each) for each in rows.areas]


def choices(areas: Sequence[np.ndarray], resamples: int = RESAMPLES) -> np.ndarray:
    """Which rate wins when the tuning seeds are drawn again: an index for each resample.

    areas: of each rate, the scores of its seeds; a finalist's start with the seeds of the first look. We redraw both
    looks, so a rate that lost at the first look may win this time.
    """
    rng, count = np.random.default_rng(0), min(len(each) for each in areas)
    areas = [np.nan_to_num(each, nan=-1e9) for each in areas]  # no episode ended: never the best

    def drawn(seeds: np.ndarray) -> np.ndarray:
        mean: np.ndarray = seeds[rng.integers(0, len(seeds), (resamples, count))].mean(axis=1)
        return mean

    first = np.stack([drawn(each[:count]) for each in areas], axis=1)  # [resamples, rates]
    if all(len(each) == count for each in areas):
        best: np.ndarray = first.argmax(axis=1)
        return best
    second = np.stack([drawn(each[count:] if len(each) > count else each) for each in areas], axis=1)
    whole = (first + second) / 2
    behind = np.argsort(np.argsort(-first, axis=1), axis=1) >= FINALISTS
    best = np.where(behind, -np.inf, whole).argmax(axis=1)
    return best
