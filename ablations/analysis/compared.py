"""Arms against a reference: what each scores, how far it is from the reference, and what can be said about that."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ablations.analysis.effects import HELPS, HURTS, MARGIN, verdict
from ablations.analysis.estimates import LEVEL, Estimate, Z, holm, unpaired
from ablations.analysis.scales import SCALES
from ablations.analysis.stats import FEWEST, improvement, interval, iqm
from tricks.runs.learning_curve import DIAGNOSTICS

POWER = 0.841621  # the normal distribution's 80% quantile: an effect is to be detected four times out of five
MANY = 100_000  # seeds that nobody will train


class Frames(NamedTuple):
    """Runs as two tidy tables."""

    runs: pd.DataFrame
    """A row per arm and seed: arm, seed, lr, area, late, diverged, and what else is known."""
    curves: pd.DataFrame
    """Rows of arm, seed, step, return, and what else was kept, such as diagnostics."""


Span = tuple[float, float]  # the areas of a random policy and of the best possible; NaN if not known
NO_SPAN = (np.nan, np.nan)
Against = str | Mapping[str, str]  # the reference of all arms, or of each arm that has one


def compared_arms(
    runs: pd.DataFrame,
    against: Against,
    choosing: Mapping[str, float] | None = None,
    margin: float | None = None,
    span: Span = NO_SPAN,
) -> pd.DataFrame:
    """One row per arm: its rate and scores, in units of return, and its difference in area from its reference's.

    runs: a row per arm and seed with `arm, seed, lr, area, late, diverged`. choosing: of arms whose learning rate was
    chosen, the variance of their mean area over that choice. margin, span: see `verdict`. Arms come in their order in
    `runs`, the reference of all first.

    area, iqm and late have their 95% intervals over seeds (expanded bootstrap). difference, low, high and p are
    Welch's, with the variance of choosing both rates. p_holm is corrected for the number of arms by Holm's method, and
    decides the verdict, see `verdict`; empty with fewer than FEWEST seeds. would_do is the
    number of seeds per arm that would detect the difference seen in four of five tries, NaN if it was detected.
    """
    choosing = choosing or {}
    arms = {str(name): own for name, own in runs.groupby("arm", sort=False)}
    order = sorted(arms, key=lambda name: name != against)
    pairs = references(order, against)
    frame = pd.DataFrame([_scores(name, arms[name]) | {"against": pairs.get(name, "")} for name in order])
    found, better, enough = [], [], []
    for name in order:
        reference, mine = pairs.get(name), arms[name].area.to_numpy()
        base = mine if reference is None else arms[reference].area.to_numpy()
        noise = float(np.nan_to_num(choosing.get(name, 0.0) + choosing.get(reference or "", 0.0)))
        found.append(Estimate(*[np.nan] * 4) if reference is None else unpaired(mine, base, noise))
        better.append(np.nan if reference is None else improvement(mine, base))
        enough.append(would_do(mine, base, len(pairs)))
    frame = frame.assign(**dict(zip(("difference", "low", "high", "p"), np.array(found).T, strict=True)), better=better)
    frame["p_holm"] = holm(frame.p.to_numpy())
    base_areas = frame.against.map(frame.set_index("arm").area)
    rows = frame.assign(**{"without": base_areas, "with": frame.area}).to_dict("records")
    frame["verdict"] = [verdict(row, margin, span) for row in rows]
    frame["would_do"] = enough
    frame.loc[frame.verdict.isin([HELPS, HURTS]), "would_do"] = np.nan
    return frame


def references(arms: Sequence[str], against: Against) -> dict[str, str]:
    """Which arm each is compared to; those that are compared to none are left out."""
    if isinstance(against, str):
        return {name: against for name in arms if name != against}
    return {name: against[name] for name in arms if name in against}


def _scores(name: str, runs: pd.DataFrame) -> dict[str, object]:
    """An arm's part of its row."""
    row: dict[str, object] = {"arm": name, "lr": runs.lr.iloc[0]}
    area, late = runs.area.to_numpy(), runs.late.to_numpy()
    for key, values, statistic in (("area", area, np.mean), ("iqm", area, iqm), ("late", late, np.mean)):
        low, high = interval(values, statistic)
        row |= {key: float(statistic(values)), f"{key}_low": float(low), f"{key}_high": float(high)}
    return row | {"diverged": int(runs.diverged.notna().sum()), "seeds": len(runs)}


def would_do(having: np.ndarray, without: np.ndarray, tests: int = 1) -> float:
    """How many seeds per arm would detect such a difference in four of five tries. having, without: [seeds].

    By the normal approximation, n = (z₁₋α/₂ + z₀.₈)² (s₁² + s₂²) / d², at α = LEVEL / tests; at least FEWEST. NaN if an
    arm has a single seed or a NaN, or if there is no difference or no spread. Cohen 1988, Statistical Power Analysis,
    chapter 2.
    """
    from scipy import special

    if min(len(having), len(without)) < 2:
        return np.nan
    difference, spread = float(having.mean() - without.mean()), float(having.var(ddof=1) + without.var(ddof=1))
    if not spread > 0 or not abs(difference) > 0:
        return np.nan
    z = Z if tests == 1 else float(special.ndtri(1 - LEVEL / tests / 2))
    return max(float(FEWEST), float(np.ceil((z + POWER) ** 2 * spread / difference**2)))


def margin_of(env: str) -> float | None:
    """MARGIN of the way from a random policy to the ceiling, in units of return; None where there is no such scale."""
    scale = SCALES.get(env)
    return None if scale is None else MARGIN * (scale.ceiling - scale.random)


def span_of(env: str, curves: pd.DataFrame) -> Span:
    """From a random policy to the ceiling; where that is not known, from the arms' first returns, without a ceiling."""
    if env in SCALES:
        return SCALES[env].random, SCALES[env].ceiling
    first = curves.dropna(subset="return").groupby(["arm", "seed"], sort=False)["return"].first()
    return float(first.mean()), np.nan


Areas = Mapping[float, Sequence[float]]  # a rate -> one area per tuning seed


def differences_by_rate(areas: Mapping[str, Areas], against: Against) -> pd.DataFrame:
    """One row per arm and rate: the area on the tuning seeds, and its difference from its reference's, after Welch.

    areas: of each arm. At every rate only as many seeds count as at all rates: the best ones have more, because they
    looked best. Differences are NaN at a rate that one of the two arms lacks.
    """
    rows, pairs = [], references(list(areas), against)
    for arm, by_rate in areas.items():
        first = min(len(values) for values in by_rate.values())
        for lr in sorted(by_rate):
            mine = np.array(by_rate[lr][:first])
            low, high = interval(mine)
            row = {"arm": arm, "lr": lr, "area": mine.mean(), "area_low": float(low), "area_high": float(high)}
            other = areas[pairs[arm]].get(lr) if arm in pairs else None
            found = Estimate(*[np.nan] * 4) if other is None else unpaired(mine, np.array(other[:first]))
            rows.append(row | dict(zip(("difference", "low", "high", "p"), found, strict=True)) | {"seeds": first})
    return pd.DataFrame(rows)


def moved(curves: pd.DataFrame, reference: str, other: str, recorded: Iterable[str] = ()) -> pd.DataFrame:
    """Which diagnostics differ between two arms: one row each, the clearest first.

    curves: rows of arm, seed, update and diagnostics. recorded: names of the user's own numbers, which count, too. A
    diagnostic's value in a seed is its mean over updates. Columns: diagnostic, without, with, difference, low, high, p,
    p_holm (Welch's; Holm's over all diagnostics). Only those with p_holm < LEVEL are returned.
    """
    names = [
        name for name in (*DIAGNOSTICS, *recorded) if name in curves and name not in ("learning_rate", "eval_return")
    ]
    means = curves.groupby(["arm", "seed"], sort=False)[names].mean()
    rows = []
    for name in names:
        without, having = (means[name].loc[arm].to_numpy() for arm in (reference, other))
        if np.isnan(without).any() or np.isnan(having).any() or min(len(without), len(having)) < FEWEST:
            continue
        found = unpaired(having, without)
        row = {"diagnostic": name, "without": without.mean(), "with": having.mean(), "difference": found.mean}
        rows.append(row | {"low": found.low, "high": found.high, "p": found.p})
    frame = pd.DataFrame(rows, columns=["diagnostic", "without", "with", "difference", "low", "high", "p"])
    frame["p_holm"] = holm(frame.p.to_numpy(dtype=float))
    return frame[frame.p_holm < LEVEL].sort_values("p", kind="stable", ignore_index=True)
