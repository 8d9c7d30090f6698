"""Effects of crossed tricks: a factorial's exact effects, interactions and Shapley values; a screen's contrasts.

Every effect is computed per seed, so its interval is Student's t over seeds.
"""

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.effects import scores
from ablations.analysis.records import Study
from ablations.analysis.stats import LEVEL, holm, paired
from ablations.question.arms import Design
from tricks.errors import InputError

DIGITS = 9  # anything smaller is rounding error, whose sign can agree across all seeds
Scores = dict[frozenset[str], np.ndarray]  # which factors are on -> one score per seed


def by_factors(study: Study, design: Design) -> Scores:
    """The scores of every arm that has results, keyed by which of the design's tricks are on.

    Raises InputError if no arm has results.
    """
    found = {arm: scores(study, arm).score for arm in design.arms if len(study.of(arm))}
    if not found:
        raise InputError(f"no arm of the {design.name} has results")
    seeds = sorted(set.intersection(*(set(score.index) for score in found.values())))
    return {design.factors_of(arm): s.loc[seeds].to_numpy() for arm, s in found.items()}


def main_effects(study: Study, design: Design) -> pd.DataFrame:
    """One row per trick: effect with its 95% interval, p (also after Holm), detected, and a factorial's Shapley value.

    In a factorial, the effect is the mean difference that the trick makes, over all sets of the other tricks for which
    both arms have results. In a screen, it is the trick's coefficient in a linear model of all tricks, which equals
    mean on minus mean off if no arm is missing.
    """
    values, reservation = by_factors(study, design), ", ".join(sorted({*study.runs.tuned} - {""}))
    estimate = _coefficients if design.crossed == "fraction" else _differences
    found = estimate(values, design.names)
    rows: list[dict[str, Any]] = []
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
    """One row per pair of tricks: how much more one does when the other is on. NaN if the arms cannot tell."""
    values, rows = by_factors(study, design), []
    for a, b in combinations(design.names, 2):
        others = [on for on in values if not on & {a, b} and {on | {a}, on | {b}, on | {a, b}} <= set(values)]
        each = [values[on | {a, b}] - values[on | {b}] - values[on | {a}] + values[on] for on in others]
        found = paired(np.mean(each, axis=0).round(DIGITS)) if each else paired(np.array([np.nan]))
        rows.append({"a": a, "b": b, "interaction": found.mean, "low": found.low, "high": found.high, "p": found.p})
    return pd.DataFrame(rows)


def _differences(values: Scores, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The change that each trick makes, per seed, averaged over the sets of the other tricks."""
    pairs = {
        name: [values[on | {name}] - values[on] for on in values if name not in on and on | {name} in values]
        for name in names
    }
    return {name: np.mean(each, axis=0) if each else np.array([np.nan]) for name, each in pairs.items()}


def _coefficients(values: Scores, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Regress the scores on the flags by least squares, per seed. Arms may be missing; NaN if too many are."""
    flags = np.array([[1.0, *(name in on for name in names)] for on in values])  # [arms, 1 + factors]
    if np.linalg.matrix_rank(flags) < flags.shape[1]:
        return dict.fromkeys(names, np.array([np.nan]))
    fitted = np.linalg.lstsq(flags, np.stack(list(values.values())))[0]
    return dict(zip(names, fitted[1:], strict=True))


def _shapley(values: Scores, name: str, names: tuple[str, ...]) -> Any:
    """φ = Σ |on|!(k−1−|on|)!/k! · the trick's gain on each set of the others. Shapley 1953. NaN if arms are missing."""
    k = len(names)
    if len(values) < 2**k:
        return paired(np.array([np.nan]))
    without = [on for on in values if name not in on]
    each = [(values[on | {name}] - values[on]) / (k * comb(k - 1, len(on))) for on in without]
    return paired(np.sum(each, axis=0))
