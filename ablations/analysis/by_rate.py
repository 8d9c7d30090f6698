"""What a trick does at each learning rate, over all of them, and with each arm at its own best; and how sure that is.

These are different questions. A trick that only makes large rates safe does nothing where each arm has its best rate,
and decides everything at a rate that someone took from a paper. And had other tuning seeds been drawn, another rate
might have been chosen: the two best rates of an arm are usually closer together than their standard errors.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.effects import effects
from ablations.analysis.records import Study
from ablations.analysis.stats import Estimate, known, normalized, unpaired
from ablations.question.arms import Arm, Design
from ablations.training.rates import GRID

OVER_ALL, AT_BEST = "over all", "own best"
ByRate = Mapping[float, np.ndarray]  # a rate -> one score per tuning seed


def scores_by_rate(study: Study, arm: Arm) -> ByRate:
    """An arm's scores at each rate that was tried; empty if no seeds were kept, or not all rates of the grid tried.

    These are areas, so there are none where a study compares the last tenth.

    Only the seeds of the first look count, which every rate has. The best rates were picked by those and then trained
    on more, so with these, too, they would look better than they are.
    """
    areas, scale = study.tuning(arm), study.scale
    if study.about.get("score", "area") != "area":
        return {}
    if not study.about.get("tuning"):
        areas = {lr: areas[lr] for lr in GRID} if {*GRID} <= {*areas} else {}
    first = min(map(len, areas.values()), default=0)
    areas = {lr: areas[lr][:first] for lr in sorted(areas)}
    return {lr: normalized(area, scale.random, scale.ceiling) if scale else area for lr, area in areas.items()}


def effects_by_rate(study: Study, design: Design) -> pd.DataFrame:
    """One row per comparison and column: each rate that both arms tried, `over all` of them, and `own best`.

    trick, label, at, without, with, difference, low, high (95%, Welch), p, seeds. `own best` is the effect of
    `effects`, on the reported seeds; the others are of the tuning seeds. Comparisons with an arm that was not tuned are
    left out.
    """
    rows: list[dict[str, Any]] = []
    own = {row["label"]: row for row in effects(study, design).to_dict("records")}
    for pair in design.comparisons:
        without, having = (scores_by_rate(study, arm) for arm in (pair.without, pair.having))
        rates = [lr for lr in without if lr in having]
        if not rates or pair.label not in own:
            continue
        facts = {name: own[pair.label][name] for name in ("design", "env", "scaled", "trick", "label")}
        means = [(without[lr].mean(), having[lr].mean()) for lr in rates]
        found = [(f"{lr:g}", *both, unpaired(having[lr], without[lr])) for lr, both in zip(rates, means, strict=True)]
        found.append((OVER_ALL, *np.mean(means, axis=0), over_all(without, having, rates)))
        for at, low, high, each in found:
            row = {"at": at, "without": low, "with": high, "difference": each.mean, "low": each.low, "high": each.high}
            rows.append(facts | row | {"p": each.p, "seeds": len(having[rates[0]])})
        best = own[pair.label] | {"at": AT_BEST}
        rows.append({name: best[name] for name in rows[-1]})
    return pd.DataFrame(rows)


def over_all(without: ByRate, having: ByRate, rates: Sequence[float] = GRID) -> Estimate:
    """The difference of two arms' means over the rates. Every rate has seeds of its own, so their variances add."""
    means = [np.array([arm[lr].mean() for lr in rates]) for arm in (without, having)]
    squared = sum(arm[lr].var(ddof=1) / len(arm[lr]) for arm in (without, having) for lr in rates) / len(rates) ** 2
    return known(float(means[1].mean() - means[0].mean()), float(squared))


def common_rate(study: Study) -> float | None:
    """The rate at which the study's arms do best on average, of those that all tried; None if an arm was not tuned."""
    arms = dict.fromkeys(arm for design in study.designs for arm in design.arms)
    found = [scores_by_rate(study, arm) for arm in arms]
    rates = [lr for lr in found[0] if all(lr in arm for arm in found)]
    means = {lr: mean_or_least(arm[lr].mean() for arm in found) for lr in rates}
    return max(means, key=means.__getitem__, default=None)


def mean_or_least(means: Iterable[float]) -> float:
    """Their mean; −∞ if one is NaN, which `max` would take for the best if it came first."""
    return float(np.nan_to_num(np.mean([*means]), nan=-np.inf))
