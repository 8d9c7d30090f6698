"""What each trick does: the scores of every run, the differences between arms, and what can be said of them.

Also a factorial's effects and interactions, each computed per seed, so that its interval is Student's t over seeds.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis import stats
from ablations.analysis.choosing import choice_variance
from ablations.analysis.records import SHARES, Study, grid
from ablations.analysis.scales import MARGIN, threshold
from ablations.question.arms import Arm, Comparison, Design, taken
from tricks.errors import InputError
from tricks.ladder import Tricks, switched
from tricks.runs.learning_curve import DIAGNOSTICS

HELPS, HURTS, NOTHING, UNKNOWN = "helps", "hurts", "practically nothing", "unknown"  # verdicts
CANNOT = "cannot tell here"
NOT_LEARNED, AT_CEILING = f"{CANNOT}: no arm learned much", f"{CANNOT}: all arms are near the ceiling"
LEARNED = 3  # margins above a random policy: below, a difference of a margin is a third of all that was learned
HEADROOM = 2  # margins below the ceiling: an area has to lose something while learning, so few ever get nearer


def scores(study: Study, arm: Tricks | Arm) -> pd.DataFrame:
    """The scores of an arm's runs, one row per seed: area, late, score, reached.

    area and late are returns. score is the area, or late if the study compares that, on a scale from the random policy
    (0) to the ceiling (1) if there is one. reached is the step at which the threshold was reached (NaN: never).
    """
    every = _scores(study)
    return every.get(study.key(arm), next(iter(every.values())).iloc[:0])


@cache
def _scores(study: Study) -> dict[str, pd.DataFrame]:
    """The scores of all arms, by their keys: one pass takes a twentieth of the time of one per arm."""
    order = study.runs.seed.argsort(kind="stable")
    runs, keys = study.runs.iloc[order].set_index("seed"), study.keys.iloc[order].to_numpy()
    found = pd.DataFrame({"area": runs[SHARES].mean(axis=1), "late": runs["late"]})
    scale, goal = study.scale, threshold(study.known)
    own = found[study.about.get("score", "area")]
    found["score"] = stats.normalized(own.to_numpy(), scale.random, scale.ceiling) if scale else own
    found["reached"] = np.nan if goal is None else stats.reached(grid(study.runs, study.steps), goal).to_numpy()
    return {str(arm): own for arm, own in found.groupby(keys)}


@cache
def effects(study: Study, design: Design) -> pd.DataFrame:
    """One row per comparison of a design: its Label, the difference in score, its 95% interval, and a verdict.

    `arm` is the one that a comparison is about, and `against` its reference; `without` and `with` are mean scores, and
    `better` is the probability that a seed with the trick beats one without. Comparisons without seeds are left out.

    Intervals and tests are Welch's, and include the variance of choosing the arms' learning rates where it is known
    (see `choosing`), corrected by Holm's method for the number of comparisons in the design. Detected is 1 if the trick
    helps, -1 if it hurts, else 0: see `verdict`. If the study was tried again on other seeds, an effect that was
    detected or practically nothing has the difference seen there, and `confirmed`: 1 if p < 0.05 with the same sign
    there, or within the margin again; else 0.
    """
    rows = [(pair, row) for pair in design.comparisons if (row := _row(study, design, pair))]
    frame = pd.DataFrame([row for _, row in rows])
    if frame.empty:
        return frame
    frame = with_verdicts(frame)
    again = [_row(study.again, design, pair) if study.again else None for pair, _ in rows]
    confirmed = stats.second_try(frame.detected, again, frame.margin.where(frame.verdict == NOTHING))
    return pd.concat([frame, confirmed], axis=1)


def with_verdicts(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of comparisons with `p_holm`, corrected for their number, `verdict` and `detected`."""
    frame = frame.assign(p_holm=stats.holm(frame.p.to_numpy()))
    rows = frame.to_dict("records")
    frame["verdict"] = [verdict(row, row["margin"], (row["floor"], row["ceiling"])) for row in rows]
    return frame.assign(detected=frame.verdict.map({HELPS: 1, HURTS: -1}).fillna(0).astype(int))


def verdict(row: Mapping[Any, Any], margin: float, span: tuple[float, float] = (0.0, 1.0)) -> str:
    """What can be said of a difference: the one place where that is decided.

    row: difference, low, high, p_holm, and the mean areas `without` and `with`. margin: a difference that is certainly
    smaller counts as practically nothing; NaN: none does. span: the areas of a random policy and of the best possible.
    Where no arm is a margin better than a random policy, nothing can be told.
    """
    if np.isnan(row["low"]):
        return ""
    if max(row["without"], row["with"]) < span[0] + margin:  # the arms can only differ in how they fail
        return NOT_LEARNED
    if row["p_holm"] < stats.LEVEL:
        return HELPS if row["difference"] > 0 else HURTS
    if not stats.within(row["low"], row["high"], margin):
        return UNKNOWN
    return out_of_room(row["without"], row["with"], margin, span) or NOTHING


def out_of_room(without: float, having: float, margin: float, span: tuple[float, float] = (0.0, 1.0)) -> str:
    """Why a small difference between two arms says nothing; empty if it does. See `verdict`.

    Where neither arm has learned much, there is hardly anything to lose, and near the ceiling hardly anything to gain:
    the difference is small there whatever the trick does.
    """
    if max(without, having) < span[0] + LEARNED * margin:
        return NOT_LEARNED
    return AT_CEILING if min(without, having) > span[1] - HEADROOM * margin else ""


def is_small(frame: pd.DataFrame) -> pd.Series:
    """Which rows certainly do less than MARGIN, in an environment with a scale and where there is room for more."""
    small: pd.Series = stats.within(frame.low, frame.high, MARGIN) & frame.scaled
    pairs = zip(frame.without, frame["with"], strict=True)
    return small & pd.Series([not out_of_room(*pair, MARGIN) for pair in pairs], frame.index, dtype=bool)


def decided_arms(study: Study) -> frozenset[Arm]:
    """Both arms of every comparison in which an effect is detected, or practically nothing."""
    found: set[Arm] = set()
    for design in study.designs:
        frame = effects(study, design)
        labels = set() if frame.empty else {*frame.label[(frame.detected != 0) | (frame.verdict == NOTHING)]}
        found |= {arm for pair in design.comparisons if pair.label in labels for arm in (pair.without, pair.having)}
    return frozenset(found)


def joint(study: Study) -> Design | None:
    """The joint effect of the tricks that each do practically nothing in the full set; None if fewer than two.

    Several small effects can add up to one that matters. The design has the full set, and the set without all of them.
    """
    for design in study.designs:
        frame = effects(study, design)
        small = {*frame.label[frame.verdict == NOTHING]} if len(frame) else set()
        pairs = [pair for pair in design.comparisons if pair.label in small and pair.label.sign == "−"]
        if len(pairs) > 1:
            full, names = pairs[0].having, [pair.trick for pair in pairs]
            gone = {other for pair in pairs for other in (pair.trick, *pair.label.others)}
            label = taken(names[0], [name for name in full.tricks.on if name in gone - {names[0]}])
            without = full.like(label, switched({*full.tricks.on} - gone))
            return Design("together", tuple(names), (full, without), (Comparison(label, without, full),), own_arms=True)
    return None


def _row(study: Study, design: Design, pair: Comparison) -> dict[str, Any] | None:
    """A comparison's row; None if an arm has no runs."""
    off, on = (scores(study, arm) for arm in (pair.without, pair.having))
    if off.empty or on.empty:
        return None
    first, second = (study.of(arm) for arm in (pair.without, pair.having))
    without, having = off.score.to_numpy(), on.score.to_numpy()
    choosing = sum(_choice(study, arm, study.key(arm)) for arm in (pair.without, pair.having))  # NaN if one is unknown
    found = stats.unpaired(having, without, float(np.nan_to_num(choosing)), study.level)
    error = squared_error(having, without, choosing) ** 0.5
    return {
        "design": design.name,
        "env": study.env,
        "scaled": study.scale is not None,
        "trick": pair.trick,
        "label": pair.label,
        "arm": pair.focus.name,
        "against": pair.reference.name,
        "lr_without": float(first.lr.iloc[0]),
        "lr_with": float(second.lr.iloc[0]),
        "without": without.mean(),
        "with": having.mean(),
        "difference": found.mean,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "seeds": min(len(without), len(having)),
        "tuned": ", ".join(sorted({*first.tuned, *second.tuned} - {""})),  # about learning rates
        "choosing": choosing**0.5,
        "error": error,
        "exaggeration": stats.exaggeration(found.mean, error, study.level),
        "better": stats.improvement(having, without),
        "alike": [*off.area] == [*on.area],
        "margin": study.margin,
        "floor": 0.0 if study.scale else float(study.runs[SHARES[0]].mean()),  # untrained, where there is no scale
        "ceiling": 1.0 if study.scale else np.nan,
    }


def squared_error(having: np.ndarray, without: np.ndarray, choosing: float) -> float:
    """The variance of a difference of means, with that of choosing both rates where it is known; NaN with one seed."""
    if min(len(having), len(without)) < 2:
        return np.nan
    return float(having.var(ddof=1) / len(having) + without.var(ddof=1) / len(without) + np.nan_to_num(choosing))


@cache  # by the key, too: stored arms that differ in their own functions only are equal
def _choice(study: Study, arm: Arm, key: str) -> float:
    """The variance of an arm's score over the choice of its learning rate; NaN if unknown, as of the last tenth."""
    if study.about.get("score", "area") != "area":
        return np.nan
    return choice_variance(study.tuning(arm), float(study.runs.lr[study.keys == key].iloc[0])) / study.unit**2


def moved(curves: pd.DataFrame, reference: str, other: str, recorded: Iterable[str] = ()) -> pd.DataFrame:
    """Which diagnostics differ between two arms: one row each, the clearest first.

    curves: rows of arm, seed, update and diagnostics. recorded: names of the user's own numbers, which count, too. A
    diagnostic's value in a seed is its mean over updates. Columns: diagnostic, without, with, difference, low, high, p,
    p_holm (Welch's; Holm's over all diagnostics). Only those with p_holm < LEVEL are returned.
    """
    skipped = ("learning_rate", "eval_return")
    names = [name for name in (*DIAGNOSTICS, *recorded) if name in curves and name not in skipped]
    means, rows = curves.groupby(["arm", "seed"], sort=False)[names].mean(), []
    for name in names:
        without, having = (means[name].loc[arm].to_numpy() for arm in (reference, other))
        if not np.isnan([*without, *having]).any():
            found = stats.unpaired(having, without)
            rows.append((name, without.mean(), having.mean(), *found))
    frame = pd.DataFrame(rows, columns=["diagnostic", "without", "with", "difference", "low", "high", "p"])
    frame["p_holm"] = stats.holm(frame.p.to_numpy(dtype=float))
    return frame[frame.p_holm < stats.LEVEL].sort_values("p", kind="stable", ignore_index=True)


DIGITS = 9  # anything smaller is rounding error, whose sign can agree across all seeds
Scores = dict[frozenset[str], np.ndarray]  # which factors are on -> one score per seed


def by_factors(study: Study, design: Design) -> Scores:
    """The scores of every arm that has results, by which tricks are on. Raises InputError if no arm has results."""
    found = {arm: scores(study, arm).score for arm in design.arms if len(study.of(arm))}
    if not found:
        raise InputError(f"no arm of the {design.name} has results")
    seeds = sorted(set.intersection(*(set(score.index) for score in found.values())))
    return {design.factors_of(arm): s.loc[seeds].to_numpy() for arm, s in found.items()}


def main_effects(study: Study, design: Design) -> pd.DataFrame:
    """One row per trick: effect with its 95% interval, p (also after Holm), and whether it is detected.

    The effect is the mean difference that the trick makes, over all sets of the other tricks for which both arms have
    results.
    """
    values, names, tuned = by_factors(study, design), design.names, ", ".join(sorted({*study.runs.tuned} - {""}))
    own = {name: _contrast(values, name).round(DIGITS) for name in names}
    rows = [(name, *stats.paired(each, level=study.level), len(each), tuned) for name, each in own.items()]
    frame = pd.DataFrame(rows, columns=["trick", "effect", "low", "high", "p", "seeds", "tuned"])
    frame["p_holm"] = stats.holm(frame.p.to_numpy())
    frame["detected"] = np.where(frame.p_holm < stats.LEVEL, np.sign(frame.effect), 0).astype(int)
    return frame


def interactions(study: Study, design: Design) -> pd.DataFrame:
    """One row per pair of tricks: how much more one does when the other is on. NaN if the arms cannot tell."""
    values, pairs = by_factors(study, design), combinations(design.names, 2)
    rows = [(*pair, *stats.paired(_contrast(values, *pair).round(DIGITS), level=study.level)) for pair in pairs]
    return pd.DataFrame(rows, columns=["a", "b", "interaction", "low", "high", "p"])


def _contrast(values: Scores, *names: str) -> np.ndarray:
    """What one trick changes, or two beyond what each of them does, per seed; averaged over the sets of the others."""
    parts = [frozenset(part) for size in range(len(names), -1, -1) for part in combinations(names[::-1], size)]
    others = [on for on in values if not on & {*names} and all(on | part in values for part in parts)]
    each = [sum((-1) ** (len(names) - len(part)) * values[on | part] for part in parts) for on in others]
    return np.mean(each, axis=0) if each else np.array([np.nan])
