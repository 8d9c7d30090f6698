"""Effects of crossed tricks: exact ones of a factorial, with interactions and Shapley values; a screen's contrasts.

Every effect is computed seed by seed, so that its interval is Student's t over seeds.
"""

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.effects import LEVEL, scores
from ablations.analysis.stats import holm, paired
from ablations.analysis.studies import Study
from ablations.design.story import Design
from tricks.errors import InputError

DIGITS = 9  # what is less is rounding, whose sign can be the same for all seeds
Scores = dict[frozenset[str], np.ndarray]  # which factors are on -> a score a seed


def by_factors(study: Study, design: Design) -> Scores:
    """The score of every arm with results, by which of the design's tricks are on."""
    found = {arm: scores(study, arm.tricks).score for arm in design.arms if len(study.of(arm.tricks))}
    if not found:
        raise InputError(f"no arm of the {design.name} has results")
    seeds = sorted(set.intersection(*(set(score.index) for score in found.values())))
    return {frozenset(arm.tricks.on) & {*design.names}: s.loc[seeds].to_numpy() for arm, s in found.items()}


def main_effects(study: Study, design: Design) -> pd.DataFrame:
    """A row a trick: effect with its 95% interval, p (also after Holm), detected, and for factorials the Shapley value.

    Crossed as a whole, a factorial: the mean difference that the trick makes, over all sets of the others where both
    arms are there. In a fraction of all sets, a screen: its coefficient in a linear model of all tricks, which is mean
    on minus mean off if no arm is missing.
    """
    values = by_factors(study, design)
    estimate = _coefficients if design.crossed == "fraction" else _differences
    found = estimate(values, design.names)
    rows: list[dict[str, Any]] = []
    reservation = ", ".join(sorted({*study.runs.tuned} - {""}))
    for name in design.names:
        effect = paired(found[name].round(DIGITS))
        share = _shapley(values, name, design.names)
        rows.append({"trick": name, "effect": effect.mean, "low": effect.low, "high": effect.high, "p": effect.p})
        rows[-1] |= {"shapley": share.mean, "shapley_low": share.low, "shapley_high": share.high}
        rows[-1] |= {"seeds": len(found[name]), "tuned": reservation}
    frame = pd.DataFrame(rows)
    frame["p_holm"] = holm(frame.p.to_numpy())
    frame["detected"] = np.where(frame.p_holm < LEVEL, np.sign(frame.effect), 0).astype(int)
    return frame


def interactions(study: Study, design: Design) -> pd.DataFrame:
    """A row a pair of tricks: how much more one does where the other is on. NaN if that cannot be told."""
    values, rows = by_factors(study, design), []
    for a, b in combinations(design.names, 2):
        others = [on for on in values if not on & {a, b} and {on | {a}, on | {b}, on | {a, b}} <= set(values)]
        each = [values[on | {a, b}] - values[on | {b}] - values[on | {a}] + values[on] for on in others]
        found = paired(np.mean(each, axis=0).round(DIGITS)) if each else paired(np.array([np.nan]))
        rows.append({"a": a, "b": b, "interaction": found.mean, "low": found.low, "high": found.high, "p": found.p})
    return pd.DataFrame(rows)


def _differences(values: Scores, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """What each trick changes, seed by seed, averaged over the sets of the others."""
    pairs = {
        name: [values[on | {name}] - values[on] for on in values if name not in on and on | {name} in values]
        for name in names
    }
    return {name: np.mean(each, axis=0) if each else np.array([np.nan]) for name, each in pairs.items()}


def _coefficients(values: Scores, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Least squares of the scores on the flags, seed by seed; arms may be missing. NaN if too many are."""
    flags = np.array([[1.0, *(name in on for name in names)] for on in values])  # [arms, 1 + factors]
    if np.linalg.matrix_rank(flags) < flags.shape[1]:
        return dict.fromkeys(names, np.array([np.nan]))
    fitted = np.linalg.lstsq(flags, np.stack(list(values.values())), rcond=None)[0]
    return dict(zip(names, fitted[1:], strict=True))


def _shapley(values: Scores, name: str, names: tuple[str, ...]) -> Any:
    """φ = Σ |on|!(k−1−|on|)!/k! · what the trick adds to each set of the others. Shapley 1953. NaN without all arms."""
    k = len(names)
    if len(values) < 2**k:
        return paired(np.array([np.nan]))
    without = [on for on in values if name not in on]
    each = [(values[on | {name}] - values[on]) / (k * comb(k - 1, len(on))) for on in without]
    return paired(np.sum(each, axis=0))
