"""What a trick does at each learning rate, over all of them, and with each arm at its own best; and in general.

These are different questions. A trick that only makes large rates safe does nothing where each arm has its best rate,
and decides everything at a rate that someone took from a paper. The choice of a rate is itself uncertain: `choosing`.

In general, environments are the unit. A trick can raise the peak, or make the choice of a rate matter less: at each
arm's best rate in each environment only the first shows, at one rate for all of them both do.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ablations.analysis.effects import effects, squared_error
from ablations.analysis.records import Study
from ablations.analysis.stats import TINY, Estimate, holm, known, normalized, unpaired
from ablations.question.arms import Arm, Comparison, Design, Label
from ablations.training.rates import GRID

OVER_ALL, AT_BEST = "over all", "own best"
ByRate = Mapping[float, np.ndarray]  # a rate -> one score per tuning seed


def scores_by_rate(study: Study, arm: Arm) -> ByRate:
    """An arm's scores at each rate that was tried; empty if no seeds were kept, or not all rates of the grid tried.

    These are areas, so there are none where a study compares the last tenth. Only the seeds of the first look count,
    which every rate has: the best rates were picked by those and then trained on more, so with these, too, they would
    look better than they are.
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
    rows: list[dict[Any, Any]] = []
    own = {row["label"]: row for row in effects(study, design).to_dict("records")}
    for pair in design.comparisons:
        without, having = (scores_by_rate(study, arm) for arm in (pair.without, pair.having))
        rates = [lr for lr in without if lr in having]
        if not rates or pair.label not in own:
            continue
        means = [(without[lr].mean(), having[lr].mean()) for lr in rates]
        found = [(f"{lr:g}", *both, unpaired(having[lr], without[lr])) for lr, both in zip(rates, means, strict=True)]
        found.append((OVER_ALL, *np.mean(means, axis=0), over_all(without, having, rates)))
        for at, low, high, each in found:
            row = {"at": at, "without": low, "with": high, "difference": each.mean, "seeds": len(having[rates[0]])}
            rows.append(own[pair.label] | row | each._asdict())
        rows.append(own[pair.label] | {"at": AT_BEST})
    what = ["design", "env", "scaled", "trick", "label", "at"]
    return pd.DataFrame(rows, columns=[*what, "without", "with", "difference", "low", "high", "p", "seeds"])


def over_all(without: ByRate, having: ByRate, rates: Sequence[float]) -> Estimate:
    """The difference of two arms' means over the rates. Every rate has seeds of its own, so their variances add."""
    means = [np.array([arm[lr].mean() for lr in rates]) for arm in (without, having)]
    squared = sum(squared_error(having[lr], without[lr], 0.0) for lr in rates) / len(rates) ** 2
    return known(float(means[1].mean() - means[0].mean()), squared)


def common_rate(study: Study) -> float | None:
    """The rate at which the study's arms do best on average, of those that all tried; None if an arm was not tuned."""
    arms = {study.key(arm): arm for design in study.designs for arm in design.arms}
    found = [scores_by_rate(study, arm) for arm in arms.values()]
    return one_rate(found) if all(found) and set.intersection(*map(set, found)) else None


def one_rate(every: Sequence[ByRate]) -> float:
    """The rate with the best mean score over these, of all that each of them tried; NaN (no episode ended) is worst."""
    rates = [lr for lr in every[0] if all(lr in each for each in every)]
    return max(rates, key=lambda lr: np.nan_to_num(np.mean([each[lr].mean() for each in every]), nan=-np.inf))


FEWEST_PLACES = 3  # environments, for a mean over them
OWN_BEST = "each arm at its own best rate in each environment"
ONE_RATE = "each arm at its single best rate across environments"
RESAMPLES = 2000
LEAST = 1e-4  # of a normalized area: smaller errors are raised to this, or one environment would outweigh all others


class General(NamedTuple):
    """A mean over environments with its 95% interval, and how much environments differ beyond their errors."""

    mean: float
    low: float
    high: float
    p: float
    spread: float  # τ: the standard deviation of the environments' own effects
    places: int


def random_effects(found: np.ndarray, errors: np.ndarray) -> General:
    """The mean effect over environments. found, errors [places]. NaN intervals with fewer than FEWEST_PLACES.

    Weights are 1 / (s² + τ²), τ² by the method of moments (DerSimonian & Laird 1986, Controlled Clinical Trials 7,
    177-188). The interval is that of Hartung & Knapp 2001 (Statistics in Medicine 20, 3875-3889): Student's t with
    places − 1 degrees of freedom, and never narrower than if the errors were known.
    """
    from scipy import special

    count = len(found)
    if count < FEWEST_PLACES or np.isnan([*found, *errors]).any():
        return General(float(found.mean()) if count else np.nan, np.nan, np.nan, np.nan, np.nan, count)
    weights = 1 / np.maximum(errors, LEAST) ** 2
    fixed = (weights @ found) / weights.sum()
    excess = weights @ (found - fixed) ** 2 - (count - 1)
    between = max(0.0, float(excess / (weights.sum() - (weights**2).sum() / weights.sum())))
    weights = 1 / (np.maximum(errors, LEAST) ** 2 + between)
    mean = float((weights @ found) / weights.sum())
    inflated = max(1.0, float(weights @ (found - mean) ** 2 / (count - 1)))
    error = (inflated / weights.sum()) ** 0.5
    reach = float(special.stdtrit(count - 1, 0.975)) * error
    p = float(2 * special.stdtr(count - 1, -abs(mean) / max(error, TINY)))
    return General(mean, mean - reach, mean + reach, p, between**0.5, count)


def in_general(studies: Sequence[Study], name: str) -> pd.DataFrame:
    """One row per comparison of the design of this name and way to choose rates: the effect over environments.

    studies: one per environment. Those without a scale are left out, since their areas have no unit in common, and so
    are comparisons in fewer than FEWEST_PLACES. Columns: label, rates, mean, low, high, p, spread, places, `one` (the
    two arms' one rate), and p_holm, corrected for the number of comparisons.
    """
    known: dict[Label, list[tuple[Study, Comparison, Any]]] = {}
    for study, design in [(s, d) for s in studies if s.scale for d in s.designs if d.name == name]:
        by = {pair.label: pair for pair in design.comparisons}
        for row in effects(study, design).to_dict("records"):
            known.setdefault(row["label"], []).append((study, by[row["label"]], row))
    rows: list[dict[str, Any]] = []
    for label, places in known.items():
        if len(places) >= FEWEST_PLACES:
            size, error = (np.array([row[each] for *_, row in places]) for each in ("difference", "error"))
            found = [(OWN_BEST, random_effects(size, error), ""), *_at_one_rate(places)]
            rows += [{"label": str(label), "rates": how} | own._asdict() | {"one": at} for how, own, at in found]
    frame = pd.DataFrame(rows)
    return frame.assign(p_holm=frame.groupby("rates").p.transform(lambda p: holm(p.to_numpy()))) if rows else frame


def _at_one_rate(places: Sequence[tuple[Study, Comparison, Any]]) -> list[tuple[str, General, str]]:
    """The effect with each arm at the rate that is its best over all environments; empty if an arm was not tuned."""
    sides = [[scores_by_rate(s, getattr(pair, side)) for s, pair, _ in places] for side in ("without", "having")]
    if not all(map(all, sides)):
        return []
    lower, upper = (one_rate(side) for side in sides)
    pairs = [(having[upper], without[lower]) for without, having in zip(*sides, strict=True)]
    found = np.array([having.mean() - without.mean() for having, without in pairs])
    errors = np.array([squared_error(*each, 0.0) ** 0.5 for each in pairs])
    return [(ONE_RATE, random_effects(found, errors), f"{lower:g}, {upper:g}")]


def sensitivity(studies: Sequence[Study], arms: Sequence[Arm]) -> pd.DataFrame:
    """One row per arm: its peak, and how much it loses at one rate for all environments, each with its 95% interval.

    peak: the mean over environments of the best score over rates. one: the mean score at `one_rate`. sensitivity: the
    difference of the two. Adkins, Bowling & White 2024 (NeurIPS), "A method for evaluating hyperparameter sensitivity".
    Intervals: percentiles of a bootstrap over the tuning seeds of every rate. Arms that were not tuned are left out.
    """
    rows, scaled = [], [study for study in studies if study.scale]
    for arm in arms:
        places = [scores_by_rate(study, arm) for study in scaled]
        if len(places) < FEWEST_PLACES or not all(places):
            continue
        rng, drawn = np.random.default_rng(0), list[tuple[float, float, float]]()
        for _ in range(RESAMPLES):
            drawn.append(_plane([{lr: rng.choice(own, len(own)) for lr, own in place.items()} for place in places]))
        ends = np.quantile(drawn, (0.025, 0.975), axis=0)
        row: dict[str, Any] = {"arm": arm.name, "places": len(places), "rate": one_rate(places)}
        for name, *own in zip(("peak", "one", "sensitivity"), _plane(places), *ends, strict=True):
            row |= dict(zip((name, f"{name}_low", f"{name}_high"), own, strict=True))
        rows.append(row)
    return pd.DataFrame(rows)


def _plane(places: Sequence[ByRate]) -> tuple[float, float, float]:
    """Peak, score at one rate, and what is lost between them."""
    common, peaks = one_rate(places), [place[one_rate([place])].mean() for place in places]
    peak, one = float(np.mean(peaks)), float(np.mean([place[common].mean() for place in places]))
    return peak, one, peak - one
