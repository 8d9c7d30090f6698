"""What tables of many agents show: a sweep, which values of a number are good; random draws, what each choice does."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ablations.analysis.scales import SCALES
from ablations.analysis.stats import LEVEL, holm, paired, unpaired
from tricks.ladder import HYPERPARAMETERS, NEEDS

NEAR = 0.05  # a value that loses at most this share of the way from the floor to the best is nearly as good


class Best(NamedTuple):
    """A value of a number, with the best values of the others; scores [agents], and their mean and 95% interval."""

    value: float
    others: dict[str, float]
    scores: np.ndarray
    mean: float
    low: float
    high: float


def _numbers(runs: pd.DataFrame) -> list[str]:
    return list(runs.loc[:, :"seed"].columns[:-1])  # a sweep's table begins with them


def varied(runs: pd.DataFrame) -> list[str]:
    """The numbers that a sweep varied; if each has one value, all of them."""
    return [name for name in _numbers(runs) if runs[name].nunique() > 1] or _numbers(runs)


def fixed(runs: pd.DataFrame) -> str:
    """The numbers that had one value in the whole sweep, as in " with gamma=0.9"; empty if there are none."""
    fixed = [f"{name}={runs[name].iloc[0]:g}" for name in _numbers(runs) if name not in varied(runs)]
    return f" with {', '.join(fixed)}" if fixed else ""


def floor_score(runs: pd.DataFrame) -> float:
    """The score that counts as 0: a random policy's if it is known, else that of the worst combination."""
    env = str(runs.env.iloc[0])
    return SCALES[env].random if env in SCALES else float(means(runs, varied(runs)).min())


def means(runs: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """The mean score of each combination of the varied numbers; NaN if a seed's is."""
    return runs.groupby(list(names)).score.agg(lambda scores: scores.mean(skipna=False))


def best_of_each(runs: pd.DataFrame, name: str) -> list[Best]:
    """For each value of one varied number, the best combination of the others, by its mean score.

    A mean that was chosen as the largest of several is a little too large; with more others, by more.
    """
    others, found = [other for other in varied(runs) if other != name], list[Best]()
    for value in sorted(runs[name].unique()):
        rows = runs[runs[name] == value]
        cells = {key: cell.score.to_numpy() for key, cell in rows.groupby(others or [name])}
        best: Any = max(cells, key=lambda key: np.nan_to_num(cells[key].mean(), nan=-np.inf))
        found.append(Best(value, dict(zip(others, best, strict=False)), cells[best], *paired(cells[best])[:3]))
    return found


def told_from_best(runs: pd.DataFrame, name: str) -> dict[float, bool]:
    """Of each value but the best: whether its agents' scores differ from those of the best value.

    Each value is taken at its best others. Welch's t with Holm's correction for the number of values; a value without
    a score is left out. Of fewer than `FEWEST` agents, nothing can be told.
    """
    scored = [best for best in best_of_each(runs, name) if best.mean == best.mean]
    top = max(scored, key=lambda best: best.mean)
    others = [best for best in scored if best is not top]
    p = holm(np.array([unpaired(top.scores, best.scores).p for best in others]))
    return {best.value: bool(each < LEVEL) for best, each in zip(others, p, strict=True)}


def best_scores(runs: pd.DataFrame, name: str) -> pd.Series:
    """The best mean score that can be had with each value of a number, by increasing values."""
    return pd.Series({best.value: best.mean for best in best_of_each(runs, name)})


def share_lost(level: pd.Series, floor: float) -> pd.Series:
    """How much of the way from the floor to the best each value loses; all of it where the best is below the floor."""
    way = float(level.max() - floor)
    found: pd.Series = (level.max() - level) / way if way > 0 else (level < level.max()).astype(float)
    return found


def nearly_as_good(level: pd.Series, floor: float) -> list[float]:
    """The values that are nearly as good as the best, and the best itself."""
    return [float(value) for value in level.index[share_lost(level, floor) <= NEAR]]


def good_spans(level: pd.Series, floor: float) -> list[tuple[float, float]]:
    """The values that are nearly as good as the best, as spans of neighbors: the first and the last value of each."""
    good = share_lost(level, floor) <= NEAR
    span = good.ne(good.shift()).cumsum()  # counts on where a span begins and where it ends
    return [(float(own.index[0]), float(own.index[-1])) for _, own in level[good].groupby(span[good])]


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
    return pd.Series(np.array(names)[np.searchsorted(edges[1:-1], values.to_numpy())], index=values.index)


def explained(scores: np.ndarray, level: np.ndarray) -> float:
    """ω²: the share of the scores' variance between the levels, minus what chance alone would put there.

    scores, level: [agents]. At most 1; about 0, possibly below, for a choice that does not matter, if the scores are
    independent. (Those of a set are not: see `by_chance`.) Hays 1963, Statistics for Psychologists.
    """
    scores, level = scores - scores.mean(), pd.factorize(level)[0]  # centered, so that squares lose no digits
    return _omega_squared(np.bincount(level), np.bincount(level, scores), float(scores @ scores))


def _omega_squared(agents: np.ndarray, total: np.ndarray, squares: float) -> float:
    """ω² from each level's number of agents and sum of centered scores, [levels], and the sum of all squared ones."""
    there = agents > 0
    agents, total, count = agents[there], total[there], agents.sum()
    correction = total.sum() ** 2 / count
    between, all_of_it = (total**2 / agents).sum() - correction, squares - correction
    error = max(0.0, all_of_it - between) / max(1, count - len(agents))
    return float((between - (len(agents) - 1) * error) / (all_of_it + error)) if all_of_it > 0 else 0.0


def by_chance(scores: np.ndarray, level: np.ndarray, sets: np.ndarray) -> float:
    """How often shuffled levels explain as much: the p-value of a permutation test. scores, level, sets: [agents].

    The scores of a set's agents are alike for many reasons. So a choice that they share, such as a flag, is shuffled
    over sets: else an irrelevant one would look clear in nearly half of all studies in which half of the variance is
    between sets. Other choices are shuffled over agents.
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
    able = ((runs[matters(runs, name)], name) for name in names)
    return pd.DataFrame([row for own, name in able if own[name].nunique() > 1 for row in _rows(own, name)])


def _resampled(scores: np.ndarray, level: np.ndarray, sets: np.ndarray) -> tuple[list[float], list[list[np.ndarray]]]:
    """ω² [RESAMPLES] and each level's quantiles, from draws of whole sets. scores; level and sets, from 0: [agents]."""
    rng, centered = np.random.default_rng(0), scores - scores.mean()
    count, here = sets.max() + 1, [level == each for each in range(level.max() + 1)]
    shares, quantiles = list[float](), [list[np.ndarray]() for _ in here]
    for _ in range(RESAMPLES):  # one at a time: together they would take RESAMPLES times the memory of the runs
        times = np.bincount(rng.integers(0, count, count), minlength=count)[sets]
        agents, total = (np.bincount(level, weights, len(here)) for weights in (times, times * centered))
        shares.append(_omega_squared(agents, total, float(times @ centered**2)))
        for own, kept in zip(here, quantiles, strict=True):
            if times[own].any():
                kept.append(np.quantile(np.repeat(scores[own], times[own]), QUANTILES))
    return shares, quantiles


def _rows(runs: pd.DataFrame, name: str) -> list[dict[str, Any]]:
    rows, sets, scores = list[dict[str, Any]](), pd.factorize(runs.set, sort=True)[0], runs.score.to_numpy()
    level, known = pd.factorize(levels(runs[name]))  # numbers, because text is slow to compare
    shares, quantiles = _resampled(scores, level, sets)
    low, high = np.quantile(shares, (0.025, 0.975))
    shared = {"explained": explained(scores, level), "explained_low": low, "explained_high": high}
    shared["chance"] = by_chance(scores, level, sets)
    for each in dict.fromkeys(level[np.argsort(runs[name].to_numpy())]):
        here = level == each
        row = {"choice": name, "level": known[each], "middle": float(runs[name][here].median())}
        rows.append({**row, "agents": int(here.sum()), **shared})
        own, ends = np.quantile(scores[here], QUANTILES), np.quantile(quantiles[each], (0.025, 0.975), axis=0)
        for q, *span in zip(QUANTILES, own, *ends, strict=True):
            rows[-1] |= {f"q{q:g}{end}": float(x) for end, x in zip(("", "_low", "_high"), span, strict=True)}
    return rows
