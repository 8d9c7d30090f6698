"""How uncertain the choice of a learning rate is, and what that adds to the error of a result.

Had other tuning seeds been drawn, another rate might have been chosen, with another mean: the two best rates of an arm
are usually closer together than their standard errors. An interval over the reported seeds alone does not contain that,
because they all ran at the one rate that was chosen.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ablations.training.rates import FINALISTS, best_by_mean, rows_of

RESAMPLES = 4000
Areas = Mapping[float, np.ndarray]  # a rate -> the score of each tuning seed


def table_areas(env: str, steps: int, given: str, tricks: str) -> Areas:
    """What an arm's tuning seeds scored, by the table of rates; empty if not kept. given, tricks: as for `rows_of`."""
    rows = rows_of(env, steps, given, tricks)
    return {} if rows.areas.eq("").any() else dict(zip(rows.lr, areas_of(rows), strict=True))


def choice_variance(areas: Areas, lr: float) -> float:
    """The variance of an arm's mean area over the choice of its rate, in squared units of return.

    NaN if the tuning seeds' scores are not known, or one per rate, or would not have chosen lr, at which the arm ran.
    """
    means = chosen_means(areas, lr, alike=False)
    return np.nan if means is None else float(np.var(means))


def chosen_means(areas: Areas, lr: float, alike: bool = True) -> np.ndarray | None:
    """An arm's mean area at the rate that each draw of the tuning seeds chooses; None where `choice_variance` is NaN.

    [RESAMPLES]. At a given rate all arms have the same tuning seeds. If `alike`, the k-th draw takes the same ones of
    all arms, as far as both have them, so the difference of two arms' means leaves out the noise that they share.
    """
    if min(map(len, areas.values()), default=0) < 2 or best_by_mean(areas) != lr:
        return None
    rates, each = zip(*sorted(areas.items()), strict=True)
    drawn = redrawn(each, [np.random.default_rng(round(rate * 1e6)) for rate in rates] if alike else ())
    return np.take([own.mean() for own in each], drawn)


def areas_of(rows: pd.DataFrame) -> list[np.ndarray]:
    """The scores of an arm's tuning seeds, one array per row of the table; empty arrays if they were not kept."""
    return [np.array(each.split(), dtype=float) for each in rows.areas]


def redrawn(
    areas: Sequence[np.ndarray], rngs: Sequence[np.random.Generator] = (), resamples: int = RESAMPLES
) -> np.ndarray:
    """Which rate wins when the tuning seeds are drawn again: an index for each resample.

    areas: of each rate, the scores of its seeds; a finalist's start with the seeds of the first look. We redraw both
    looks, so a rate that lost at the first look may win this time. rngs: one per rate (default: one for all).
    """
    rngs, count = rngs or [np.random.default_rng(0)] * len(areas), min(len(each) for each in areas)
    areas = [np.full_like(each, -1e9) if np.isnan(each).any() else each for each in areas]  # no end: never the best

    def drawn(areas: Sequence[np.ndarray]) -> np.ndarray:
        pairs = zip(areas, rngs, strict=True)
        return np.stack([x[rng.integers(0, len(x), (resamples, count))].mean(axis=1) for x, rng in pairs], axis=1)

    means = first = drawn([each[:count] for each in areas])
    if any(len(each) > count for each in areas):
        both = first + drawn([each[count:] if len(each) > count else each for each in areas])
        means = np.where(np.argsort(np.argsort(-first)) < FINALISTS, both, -np.inf)
    best: np.ndarray = means.argmax(axis=1)
    return best
