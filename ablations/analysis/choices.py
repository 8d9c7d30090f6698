"""What a random design says about each choice: the scores given it, and how much of their variance it explains."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from tricks.ladder import HYPERPARAMETERS, NEEDS

QUANTILES = (0.5, 0.75, 0.95)
RESAMPLES = 1000
BINS = 5  # of a number that was drawn from a range
CHOICES, AGENTS = ".choices.csv", ".csv.gz"  # the ends of the names of a random design's two files


def levels(values: pd.Series) -> pd.Series:
    """The values as a few levels, in order: themselves if they are few, else BINS ranges with equally many draws."""
    if values.nunique() <= BINS:
        return values.map(lambda x: "on" if x is True else "off" if x is False else f"{x:g}")
    edges = values.quantile(np.linspace(0, 1, BINS + 1)).to_numpy()
    names = [f"{low:.2g} to {high:.2g}" for low, high in pairwise(edges)]
    place = np.searchsorted(edges[1:-1], values.to_numpy())
    return pd.Series([names[k] for k in place], index=values.index)


def explained(scores: np.ndarray, level: np.ndarray) -> float:
    """ω²: the share of the scores' variance between the levels, without what chance alone would put there.

    At most 1; about 0, and possibly below, for a choice that does not matter, if the scores are independent of each
    other. (Those of a set are not: see `by_chance`.) Hays 1963, Statistics for Psychologists.
    """
    scores, level = scores - scores.mean(), pd.factorize(level)[0]
    return _omega_squared(np.bincount(level), np.bincount(level, scores), float(scores @ scores))


def _omega_squared(agents: np.ndarray, total: np.ndarray, squares: float) -> float:
    """ω² from each level's number of agents and sum of scores, [levels], and the sum of all squared scores.

    Scores are centered at first, so that sums of squares lose no digits.
    """
    there = agents > 0
    agents, total, count = agents[there], total[there], agents.sum()
    correction = total.sum() ** 2 / count
    between, all_of_it = (total**2 / agents).sum() - correction, squares - correction
    error = max(0.0, all_of_it - between) / max(1, count - len(agents))
    return float((between - (len(agents) - 1) * error) / (all_of_it + error)) if all_of_it > 0 else 0.0


def by_chance(scores: np.ndarray, level: np.ndarray, sets: np.ndarray) -> float:
    """How often shuffled levels explain as much: the p-value of a permutation test.

    Agents of a set share its flags and its whole numbers, and their scores are alike for many reasons. A choice that
    they share is therefore shuffled over sets, as if it came with the set and had nothing to do with it. Otherwise an
    irrelevant one would look clear in nearly half of all studies in which half of the variance is between sets. Other
    choices are shuffled over agents.
    """
    rng, scores, level = np.random.default_rng(0), scores - scores.mean(), pd.factorize(level)[0]
    observed, squares = explained(scores, level), float(scores @ scores)
    _, first, owner = np.unique(sets, return_index=True, return_inverse=True)
    agents: np.ndarray = np.ones(len(scores))  # of each unit that is shuffled
    total = scores
    if (level == level[first][owner]).all():
        level, agents, total = level[first], np.bincount(owner), np.bincount(owner, scores)
    as_much = 0
    for _ in range(RESAMPLES):
        shuffled = rng.permutation(level)
        found = _omega_squared(np.bincount(shuffled, agents), np.bincount(shuffled, total), squares)
        as_much += found >= observed - 1e-12  # an equal split may round differently
    return (1 + as_much) / (1 + RESAMPLES)


def repeated_quantiles(ordered: np.ndarray, times: np.ndarray) -> np.ndarray:
    """QUANTILES of ascending values, each repeated that many times: `np.quantile(np.repeat(...), QUANTILES)`, fast.

    ordered, times [values] -> [QUANTILES].
    """
    ends = times.cumsum()
    place = np.array(QUANTILES) * (ends[-1] - 1)
    below, above = (ordered[np.searchsorted(ends, at, side="right")] for at in (np.floor(place), np.ceil(place)))
    found: np.ndarray = below + (above - below) * (place % 1)
    return found


def clear_of_zero(rows: pd.DataFrame) -> pd.Series:
    """Whether a choice explains anything: its interval is above 0, and shuffled levels hardly ever explain as much."""
    return (rows.explained_low > 0) & (rows.chance < 0.025)


def matters(runs: pd.DataFrame, name: str) -> np.ndarray:
    """The agents for which there is something to choose: a flag's needs are on, or a trick that reads the number."""
    if name in NEEDS:
        asked = [need for need in NEEDS[name] if need in runs]
        return runs[asked].all(axis=1).to_numpy()
    readers = [trick for trick, numbers in HYPERPARAMETERS.items() if name in numbers and trick in runs]
    return runs[readers].any(axis=1).to_numpy() if readers else np.ones(len(runs), dtype=bool)


def choices(runs: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """One row per choice and level: quantiles of the scores with 95% intervals, and the variance that it explains.

    A choice is judged among the agents for which it matters, and left out if all of them have the same. Intervals are
    percentile bootstraps over sets of flags, because the draws of one set share its flags. runs: one row per agent,
    with `set`, `score` and the choices.
    """
    rows = []
    for name in names:
        able = runs[matters(runs, name)]
        if able[name].nunique() > 1:
            rows += _rows(able, name)
    return pd.DataFrame(rows)


def _resampled(scores: np.ndarray, level: np.ndarray, sets: np.ndarray) -> tuple[list[float], list[list[np.ndarray]]]:
    """ω² and each level's quantiles in RESAMPLES draws of whole sets; level and sets count from 0.

    A draw is how often each set is in it. So ω² needs sums per set only, and quantiles need the scores sorted once.
    """
    rng, centered = np.random.default_rng(0), scores - scores.mean()
    count, known = sets.max() + 1, level.max() + 1
    cell = sets * known + level
    agents, total, squares = (  # [sets, levels] each
        np.bincount(cell, weights, count * known).reshape(count, known) for weights in (None, centered, centered**2)
    )
    order = np.argsort(scores)
    by_level = [order[level[order] == each] for each in range(known)]
    ascending = [(scores[part], sets[part]) for part in by_level]
    shares, quantiles = list[float](), [list[np.ndarray]() for _ in by_level]
    for _ in range(RESAMPLES):  # one at a time: together they would take RESAMPLES times the memory of the runs
        times = np.bincount(rng.integers(0, count, count), minlength=count)  # [sets]
        shares.append(_omega_squared(times @ agents, times @ total, float((times @ squares).sum())))
        for (ordered, owner), kept in zip(ascending, quantiles, strict=True):
            if (drawn := times[owner]).any():
                kept.append(repeated_quantiles(ordered, drawn))
    return shares, quantiles


def _rows(runs: pd.DataFrame, name: str) -> list[dict[str, Any]]:
    """The rows of one choice."""
    rows = list[dict[str, Any]]()
    sets, scores = pd.factorize(runs.set, sort=True)[0], runs.score.to_numpy()
    level, known = pd.factorize(levels(runs[name]))  # numbers, because text is slow to compare
    shares, quantiles = _resampled(scores, level, sets)
    share, low, high = explained(scores, level), *np.quantile(shares, (0.025, 0.975))
    chance = by_chance(scores, level, sets)
    for each in dict.fromkeys(level[np.argsort(runs[name].to_numpy())]):
        here = level == each
        row: dict[str, Any] = {"choice": name, "level": known[each], "middle": float(runs[name][here].median())}
        row |= {"agents": int(here.sum()), "explained": share, "explained_low": low, "explained_high": high}
        row["chance"] = chance
        own, (lower, upper) = np.quantile(scores[here], QUANTILES), np.quantile(quantiles[each], (0.025, 0.975), axis=0)
        for q, *span in zip(QUANTILES, own, lower, upper, strict=True):
            row |= {f"q{q:g}{end}": float(x) for end, x in zip(("", "_low", "_high"), span, strict=True)}
        rows.append(row)
    return rows
