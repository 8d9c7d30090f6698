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
    mine = _known(env, steps, given, tricks, lr)
    return np.nan if mine is None else float(np.var(_means(mine)))


@cache
def chosen_means(env: str, steps: int, given: str, tricks: str, lr: float) -> np.ndarray | None:
    """An arm's mean area at the rate that each draw of the tuning seeds chooses; None where `choice_variance` is NaN.

    [RESAMPLES]. At a given rate all arms have the same tuning seeds, and the k-th draw takes the same ones of all arms,
    as far as both have them. So the difference of two arms' means leaves out the noise that they share.
    """
    mine = _known(env, steps, given, tricks, lr)
    return None if mine is None else _means(mine, [np.random.default_rng(round(rate * 1e6)) for rate in mine.lr])


def _known(env: str, steps: int, given: str, tricks: str, lr: float) -> pd.DataFrame | None:
    """The arm's rows; None if they don't say how uncertain the choice of lr is."""
    mine = rows_of(env, steps, given, tricks)
    return None if mine.empty or mine.areas.eq("").any() or best_of(mine) != lr else mine


def _means(rows: pd.DataFrame, rngs: Sequence[np.random.Generator] = ()) -> np.ndarray:
    return means_chosen(areas_of(rows), rngs)


def means_chosen(areas: Sequence[np.ndarray], rngs: Sequence[np.random.Generator] = ()) -> np.ndarray:
    """The mean area at the rate that each draw chooses, [RESAMPLES]. areas, rngs: as for `choices`."""
    found: np.ndarray = np.array([each.mean() for each in areas])[choices(areas, rngs)]
    return found


def areas_of(rows: pd.DataFrame) -> list[np.ndarray]:
    """The scores of an arm's tuning seeds, one array per row of the table; empty arrays if they were not kept."""
    return [split(each) for each in rows.areas]


def choices(
    areas: Sequence[np.ndarray], rngs: Sequence[np.random.Generator] = (), resamples: int = RESAMPLES
) -> np.ndarray:
    """Which rate wins when the tuning seeds are drawn again: an index for each resample.

    areas: of each rate, the scores of its seeds; a finalist's start with the seeds of the first look. We redraw both
    looks, so a rate that lost at the first look may win this time. rngs: one per rate (default: one for all).
    """
    rngs, count = rngs or [np.random.default_rng(0)] * len(areas), min(len(each) for each in areas)
    areas = [np.full_like(each, -1e9) if np.isnan(each).any() else each for each in areas]  # no end: never the best

    def drawn(seeds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        mean: np.ndarray = seeds[rng.integers(0, len(seeds), (resamples, count))].mean(axis=1)
        return mean

    first = np.stack([drawn(each[:count], rng) for each, rng in zip(areas, rngs, strict=True)], axis=1)
    if all(len(each) == count for each in areas):
        best: np.ndarray = first.argmax(axis=1)
        return best
    late = [each[count:] if len(each) > count else each for each in areas]
    both = first + np.stack([drawn(each, rng) for each, rng in zip(late, rngs, strict=True)], axis=1)
    behind = np.argsort(np.argsort(-first)) >= FINALISTS
    best = np.where(behind, -np.inf, both).argmax(axis=1)
    return best
