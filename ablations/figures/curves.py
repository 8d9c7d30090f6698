"""Small multiples of a design: learning curves, share of seeds that solved it, robustness to the learning rate."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator, PercentFormatter

from ablations.analysis.scales import SCALES, threshold
from ablations.analysis.stats import FEWEST, interval, normalized, reached, share_reached
from ablations.analysis.studies import Study
from ablations.design.arms import Design
from ablations.design.flag_sets import flags
from ablations.design.story import Panels, story_of
from ablations.figures.panels import Line, Words, behind, multiples, panels, thousands, warning
from ablations.figures.saving import save
from ablations.training.rate_table import table
from tricks.ladder import Tricks


def curves_figure(study: Study, design: Design, path: Path) -> list[Path]:
    """Mean return against steps, one panel per arm, with the 95% bootstrap interval of the mean over seeds.

    path: without suffix. Draws nothing and returns no paths for a design without panels, such as a factorial.
    """
    told = story_of(design).panels
    if told is None:
        return []
    grids = _grids(study, design)
    lines = {tricks: curve(grid) for tricks, grid in grids.items()}
    silent = {tricks: int(grid.isna().any(axis=1).sum()) for tricks, grid in grids.items()}
    notes = {
        tricks: f"no episode ended in {count} seeds: mean of the others" for tricks, count in silent.items() if count
    }
    own = "each arm at its own learning rate" if study.runs.tuned.eq("").all() else "learning rates not tuned for this"
    words = _words(
        study, design, told, own, "episode return", "pointwise 95% bootstrap\ninterval of the mean over seeds"
    )

    def scale(axis: Axes) -> None:
        thousands(axis)
        axis.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))

    figure = multiples(panels(design, lines, notes), words, scale)
    return save(figure, path, behind(design, lines, "step", "return"))


def solved_figure(study: Study, design: Design, path: Path) -> list[Path]:
    """Share of seeds that have reached the environment's threshold, by step, with Wilson's 95% interval.

    A bootstrap interval has no width at shares of 0 and 1. path: without suffix. Draws nothing if the environment has
    no threshold, or the design no panels.
    """
    goal, told = threshold(study.env), story_of(design).panels
    if goal is None or told is None:
        return []
    lines = {tricks: share(grid, goal) for tricks, grid in _grids(study, design).items()}
    what = f"share that has solved it (mean return over a tenth of the budget ≥ {goal:g})".replace("-", "−")
    words = _words(study, design, told, what, "share of seeds", "pointwise 95% interval\nof a share (Wilson)")

    def scale(axis: Axes) -> None:
        thousands(axis)
        axis.set_ylim(-0.03, 1.03)
        axis.yaxis.set_major_formatter(PercentFormatter(1))

    figure = multiples(panels(design, lines, {}), words, scale)
    return save(figure, path, behind(design, lines, "step", "solved"))


def robustness_figure(study: Study, design: Design, path: Path) -> list[Path]:
    """Mean score of the tuning seeds against the learning rate, one panel per arm that was tuned for this setting.

    path: without suffix. Draws nothing if no arm was tuned, or the design has no panels.
    """
    told = story_of(design).panels
    if told is None:
        return []
    lines = {arm.tricks: line for arm in design.arms if len((line := _by_rate(study, arm.tricks)).x)}
    if not lines:
        return []
    common = sorted(set.intersection(*({*line.x} for line in lines.values())))
    shown = panels(design, lines, {tricks: _best_and_mean(line, common) for tricks, line in lines.items()})
    seeds = " or ".join(f"{count}" for count in sorted(set(_tuned(study).seeds)))
    score = (
        "normalized area under the curve\n(0: random policy, 1: ceiling)"
        if study.env in SCALES
        else "area under the curve (mean return)"
    )
    untuned = [arm.name for arm in design.arms if arm.tricks not in lines]
    words = Words(
        f"{told.title}: {study.env}, score by learning rate" + warning("never tuned:", untuned),
        "learning rate (log scale)",
        score,
        told.lines,
        f"dots: means of {seeds} tuning seeds,\nwithout intervals; {study.steps:,} steps.\n"
        f"mean: over the rates\n{', '.join(f'{lr:g}' for lr in common)}",
    )

    rates = sorted({lr for line in lines.values() for lr in line.x})  # some arms were tried beyond the grid

    def scale(axis: Axes) -> None:
        axis.lines[-1].set(marker="o", markersize=4.5)  # the panel's own
        axis.set_xscale("log")
        slanted: Any = {"rotation": 45, "ha": "right", "rotation_mode": "anchor", "size": 8}  # else they touch
        axis.set_xticks(rates, [f"{lr:g}" for lr in rates], **slanted)
        axis.xaxis.set_minor_locator(NullLocator())

    figure = multiples(shown, words, scale)
    name = "score" if study.env in SCALES else "area"
    return save(figure, path, behind(design, lines, "lr", name).drop(columns=["low", "high"]))


def curve(grid: pd.DataFrame, statistic: Callable[..., Any] = np.mean) -> Line:
    """The mean over seeds with its interval, or another statistic. grid: one row per seed, one column per step.

    A seed without a return is left out, and then there is no interval.
    """
    known = grid.dropna()
    value = grid.mean() if statistic is np.mean or known.empty else pd.Series(statistic(known.to_numpy(), axis=0))
    return Line(grid.columns.to_numpy(dtype=float), value.to_numpy(), *interval(grid.to_numpy(), statistic))


def share(grid: pd.DataFrame, goal: float) -> Line:
    """The share of seeds that had a return of at least the goal by each step, with Wilson's 95% interval."""
    from scipy.stats import binomtest

    steps, count = grid.columns.to_numpy(dtype=float), len(grid)
    solved = share_reached(reached(grid, goal), steps)
    known = [round(part * count) for part in solved] if count >= FEWEST else []
    of = {k: binomtest(k, count).proportion_ci(0.95, "wilson") for k in set(known)}
    ends = [of[k] for k in known] or [(np.nan, np.nan)] * len(solved)
    low, high = np.array(ends).T
    return Line(steps, solved, low, high)


def _tuned(study: Study) -> pd.DataFrame:
    """The tuning table's rows of the study's environment, budget and numbers."""
    scores = table()
    here = (scores.env == study.env) & (scores.steps == study.steps) & (scores.numbers == study.runs.numbers.iloc[0])
    found: pd.DataFrame = scores[here]
    return found


def _by_rate(study: Study, tricks: Tricks) -> Line:
    """An arm's tuned scores by learning rate; empty if there are none. `low` and `high` are NaN."""
    scores = _tuned(study)
    mine = scores[scores.tricks == flags(tricks)].sort_values("lr")
    area, scale = mine.area.to_numpy(dtype=float), SCALES.get(study.env)
    score = normalized(area, scale.random, scale.ceiling) if scale else area
    return Line(mine.lr.to_numpy(dtype=float), score, *np.full((2, len(mine)), np.nan))


def _best_and_mean(line: Line, common: Sequence[float]) -> str:
    by_rate = dict(zip(line.x, line.y, strict=True))
    if np.isnan(line.y).all():
        return "no episode ended"
    best, mean = np.nanargmax(line.y), np.mean([by_rate.get(lr, np.nan) for lr in common])
    said = f"best {_short(line.y[best])} at {line.x[best]:g}"
    return said if np.isnan(mean) else f"{said}, mean {_short(mean)}"


def _short(score: float) -> str:
    return (f"{score:.2f}" if abs(score) < 10 else f"{score:.0f}").replace("-", "−")


def _grids(study: Study, design: Design) -> dict[Tricks, pd.DataFrame]:
    """The returns of each arm that has any runs."""
    return {arm.tricks: grid for arm in design.arms if len(grid := study.grid(arm.tricks))}


def _words(study: Study, design: Design, told: Panels, what: str, y: str, band: str) -> Words:
    seeds = study.seeds
    return Words(
        f"{told.title}: {study.env}, {seeds} seeds, {what}" + warning("lacks runs of", study.missing(design)),
        "environment steps (thousands)",
        y,
        told.lines,
        f"band: {band}" if seeds >= FEWEST else f"no band: fewer than {FEWEST} seeds",
    )
