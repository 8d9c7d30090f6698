"""What a trick does at each learning rate, at one rate for all arms, over all rates, and with each arm at its own best.

These are different questions. A trick that only makes large rates safe does nothing where each arm has its best rate,
and decides everything at a rate that someone took from a paper.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.effects import effects
from ablations.analysis.estimates import Estimate, known, unpaired
from ablations.analysis.scales import SCALES
from ablations.analysis.stats import normalized
from ablations.analysis.studies import Study
from ablations.design.arms import Design
from ablations.design.flag_sets import flags
from ablations.training.rate_table import GRID, rows_of, split
from tricks.ladder import Tricks

OVER_ALL, AT_BEST = "over all", "own best"
ByRate = Mapping[float, np.ndarray]  # a rate -> one score per tuning seed


def scores_by_rate(study: Study, tricks: Tricks) -> ByRate:
    """An arm's scores at each rate of the grid; empty if it was not tuned at all of them, or no seeds were kept.

    Only the seeds of the first look count, which every rate has. The best rates were picked by those and then trained
    on more, so with these, too, they would look better than they are.
    """
    mine = rows_of(study.env, study.steps, str(study.runs.numbers.iloc[0]), flags(tricks))
    mine = mine[mine.lr.isin(GRID)].sort_values("lr")
    if tuple(mine.lr) != GRID or mine.areas.eq("").any():
        return {}
    first, scale = int(mine.seeds.min()), SCALES.get(study.env)
    areas = {lr: split(areas)[:first] for lr, areas in zip(mine.lr, mine.areas, strict=True)}
    return {lr: normalized(area, scale.random, scale.ceiling) if scale else area for lr, area in areas.items()}


def effects_by_rate(study: Study, design: Design) -> pd.DataFrame:
    """One row per comparison and column: each rate of the grid, `over all` of them, and `own best`.

    trick, label, at, without, with, difference, low, high (95%, Welch), p, seeds. `own best` is the effect of
    `effects`, on the reported seeds; the others are of the tuning seeds. Comparisons with an arm that lacks a rate are
    left out.
    """
    rows: list[dict[str, Any]] = []
    own = effects(study, design)
    for pair in design.comparisons:
        without, having = (scores_by_rate(study, arm) for arm in (pair.without, pair.having))
        best = own[own.label == pair.label] if len(own) else own
        if not without or not having or best.empty:
            continue
        found: dict[str, Estimate] = {f"{lr:g}": unpaired(having[lr], without[lr]) for lr in GRID}
        found[OVER_ALL] = over_all(without, having)
        counts = dict.fromkeys(found, len(having[GRID[0]])) | {AT_BEST: int(best.seeds.iloc[0])}
        found[AT_BEST] = Estimate(*(float(best[name].iloc[0]) for name in ("difference", "low", "high", "p")))
        means = {f"{lr:g}": (without[lr].mean(), having[lr].mean()) for lr in GRID}
        means[OVER_ALL] = tuple(np.mean([arm[lr].mean() for lr in GRID]) for arm in (without, having))
        means[AT_BEST] = best.without.iloc[0], best["with"].iloc[0]
        for at, each in found.items():
            rows.append({"design": design.name, "env": study.env, "trick": pair.trick, "label": pair.label, "at": at})
            rows[-1] |= dict(zip(("without", "with"), means[at], strict=True))
            rows[-1] |= {"difference": each.mean, "low": each.low, "high": each.high, "p": each.p, "seeds": counts[at]}
    return pd.DataFrame(rows)


def over_all(without: ByRate, having: ByRate) -> Estimate:
    """The difference of two arms' means over the rates. Every rate has seeds of its own, so their variances add."""
    means = [np.array([arm[lr].mean() for lr in GRID]) for arm in (without, having)]
    squared = sum(arm[lr].var(ddof=1) / len(arm[lr]) for arm in (without, having) for lr in GRID) / len(GRID) ** 2
    return known(float(means[1].mean() - means[0].mean()), float(squared))


def common_rate(study: Study) -> float | None:
    """The rate of the grid at which the study's arms do best on average; None if an arm lacks a rate."""
    arms = dict.fromkeys(arm.tricks for design in study.designs for arm in design.arms)
    found = [scores_by_rate(study, arm) for arm in arms]
    if not all(found):
        return None
    means = {lr: float(np.mean([arm[lr].mean() for arm in found])) for lr in GRID}
    return max(means, key=means.__getitem__)
