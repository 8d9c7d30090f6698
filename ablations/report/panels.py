"""Panels of trials, doses, numbers of a sweep, and choices of a random design."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ablations.analysis.agents import best_of_each, means, varied
from ablations.analysis.outcomes import Outcome
from ablations.analysis.records import grid
from ablations.analysis.stats import FEWEST
from ablations.report import style
from ablations.report.multiples import DASHED, band, curve, headed, panels, thousands, title
from ablations.report.style import save


def dots(axis: Axes, at: Any, middle: Any, low: Any, high: Any, **look: Any) -> None:
    """Draw values with their intervals; an end that is NaN, or on the wrong side, has no bar."""
    middle = np.array(middle)
    reach = np.nan_to_num([middle - low, high - middle]).clip(min=0)
    axis.errorbar(at, middle, reach, **look)
    axis.grid(axis="y", color=style.FAINT, lw=0.6)


COLUMNS = 5  # of trials


def doses_figure(outcomes: Sequence[Outcome], path: Path) -> list[Path]:
    """Draw and save one panel per trial, all on the same scale; nothing if no trial has doses. path: without suffix."""
    dosed = [outcome for outcome in outcomes if outcome.trial.varied]
    if not dosed:
        return []
    columns = min(COLUMNS, len(dosed))
    figure, axes = panels(len(dosed), columns, style.WIDTH / COLUMNS * max(columns, 2), 2.2, share="y")
    for axis, outcome in zip(axes, dosed, strict=False):
        draw_effects(axis, outcome)
    seeds = max(len(outcome.shares) for outcome in dosed)
    title(figure, f"The more of what should make a trick matter, the larger its effect?\n{seeds} seeds, 95% intervals")
    figure.supylabel("with minus without, as a share of the best score", size=9, color=style.INK)
    return save(figure, path)


def draw_effects(axis: Axes, outcome: Outcome) -> None:
    """One trial: its effect at every dose, the last one being the claim."""
    trial, color = outcome.trial, style.color(outcome.trial.trick)
    found = pd.DataFrame([each.effect for each in outcome.at_every_dose])
    axis.axhline(0, color=style.SOFT, lw=1, ls=DASHED)
    dots(axis, found.index, found["mean"], found.low, found.high, color=color, marker="o", ms=5, lw=1.8, capsize=3)
    axis.set_xticks(found.index, [f"{dose:g}" for dose in outcome.shares])
    axis.set_xlim(-0.4, len(found) - 0.6)
    axis.set_xlabel(trial.varied)
    sign = {1: "up", -1: "down", 0: "nothing"}[trial.predicted]
    headed(axis, trial.trick, f"predicted {sign}" + (f" at lr={trial.rate:g}" if trial.rate else ""), color)


LONGEST = 30  # characters that fit above a panel


def worlds_figure(outcomes: Sequence[Outcome], words: Sequence[str], rates: str, path: Path) -> list[Path]:
    """Draw and save `path` as PNG and SVG: one panel per trial, with its curves with and without the trick.

    words: for each trial, what was predicted and seen. rates: a phrase about the learning rates.
    """
    columns = min(COLUMNS, max(3, len(outcomes)))
    figure, axes = panels(len(outcomes), columns, style.WIDTH / COLUMNS * columns, 2.5)
    for axis, outcome, said in zip(axes, outcomes, words, strict=False):
        trial, steps = outcome.trial, outcome.dose.config.steps
        band(axis, curve(grid(outcome.without, steps)), style.SOFT, DASHED)
        band(axis, curve(grid(outcome.having, steps)), style.color(trial.trick))
        size = 7.5 * min(1, LONGEST / max(map(len, said.splitlines())))
        headed(axis, trial.trick, said, style.color(trial.trick), size=size)
        thousands(axis)
    seeds = max(len(outcome.having) for outcome in outcomes)
    said = "bands: pointwise 95% bootstrap intervals" if seeds >= FEWEST else "too few for bands"
    title(figure, f"Each trick in a world made for it: with (color), without (gray, dashed)\n{seeds} seeds, {said}")
    figure.supxlabel(f"environment steps (thousands); {rates}", size=9, color=style.INK)
    figure.supylabel("episode return", size=9, color=style.INK)
    return save(figure, path)


def sweep_figure(runs: pd.DataFrame, about: str, path: Path) -> list[Path]:
    """Draw and save one panel per number that was varied. path: without suffix."""
    names = varied(runs)
    figure, axes = panels(len(names), len(names), max(6, 3.2 * len(names)), 2.5, share="y")
    for axis, name in zip(axes, names, strict=True):
        draw_number(axis, runs, name)
    axes[0].set_ylabel("mean episode return over training")
    title(figure, about)
    return save(figure, path)


def draw_number(axis: Axes, runs: pd.DataFrame, name: str) -> None:
    """The best mean at each value, with its interval, above the means of all combinations."""
    every = means(runs, varied(runs)).reset_index()
    places = {value: k for k, value in enumerate(sorted(runs[name].unique()))}  # evenly spaced, whatever the values
    axis.scatter(every[name].map(places), every.score, s=9, color=style.FAINT, zorder=1)
    found = pd.DataFrame(best_of_each(runs, name))
    at, ends = found.value.map(places), (found.low, found.high)
    dots(axis, at, found["mean"], *ends, color=style.INK, marker="o", ms=4, lw=1.6, capsize=2)
    axis.set_xticks(list(places.values()), [f"{value:g}" for value in places], size=7.5 if len(places) > 5 else None)
    axis.set_xlabel(name)


ACROSS = 6
LETTERS = 22  # of tick labels that fit below a panel


def choices_figure(table: pd.DataFrame, about: str, path: Path) -> list[Path]:
    """Draw and save one panel per choice. table: of `choices`; path: without suffix."""
    choices = sorted(table.groupby("choice", sort=False), key=lambda pair: -float(pair[1].explained.iloc[0]))
    figure, axes = panels(len(choices), ACROSS, style.WIDTH, 2.3, share="y")
    for axis, (name, levels) in zip(axes, choices, strict=False):
        draw_choice(axis, str(name), levels)
    figure.supylabel("mean episode return over training", size=9, color=style.INK)
    small = "dot: median with its 95% interval; triangle: 95th percentile; below the name: variance explained alone"
    figure.supxlabel(small, size=9, color=style.INK)
    title(figure, about)
    return save(figure, path)


def draw_choice(axis: Axes, name: str, levels: pd.DataFrame) -> None:
    """One choice: median and 95th percentile of the scores at each level."""
    at, color = np.arange(len(levels)), style.color(name)
    for column, marker in (("q0.5", "o"), ("q0.95", "^")):
        ends = levels[f"{column}_low"], levels[f"{column}_high"]
        dots(axis, at, levels[column], *ends, color=color, marker=marker, ms=4, lw=1.4, capsize=2)
    ticks = [f"{x:.1g}" if " to " in level else level for level, x in zip(levels.level, levels.middle, strict=True)]
    slanted: dict[str, Any] = (
        {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if len("".join(ticks)) > LETTERS else {}
    )
    axis.set_xticks(at, ticks, size=7, **slanted)
    axis.set_xlim(-0.4, len(levels) - 0.6)
    headed(axis, name, f"{max(0, 100 * levels.explained.iloc[0]):.1f}% of the variance", color)
