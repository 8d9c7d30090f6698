"""Panels of trials, doses, numbers of a sweep, and choices of a random design."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablations.analysis.agents import best_of_each, means, varied
from ablations.analysis.outcomes import Outcome
from ablations.analysis.stats import FEWEST
from ablations.report import style
from ablations.report.multiples import DASHED, band, curve, thousands, title
from ablations.report.style import save


def grid(count: int, columns: int, width: float, height: float, sharey: bool = True) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, in rows of at most so many columns. width: in inches; height: of a row."""
    style.use()
    rows = -(-count // columns)
    size = (width, height * rows + 0.9)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False, sharey=sharey)
    for spare in axes.flat[count:]:
        spare.axis("off")
    return figure, list(axes.flat)


COLUMNS = 5  # of trials


def doses_figure(outcomes: Sequence[Outcome], path: Path) -> list[Path]:
    """Draw and save one panel per trial, all on the same scale; nothing if no trial has doses. path: without suffix."""
    dosed = [outcome for outcome in outcomes if outcome.trial.varied]
    if not dosed:
        return []
    columns = min(COLUMNS, len(dosed))
    figure, axes = grid(len(dosed), columns, style.WIDTH / COLUMNS * max(columns, 2), 2.2)
    for axis, outcome in zip(axes, dosed, strict=False):
        draw_effects(axis, outcome)
    seeds = max(len(outcome.shares) for outcome in dosed)
    title(figure, f"The more of what should make a trick matter, the larger its effect?\n{seeds} seeds, 95% intervals")
    figure.supylabel("with minus without, as a share of the best score", size=9, color=style.INK)
    return save(figure, path)


def draw_effects(axis: Axes, outcome: Outcome) -> None:
    """One trial: its effect at every dose, the last one being the claim."""
    shares, color = outcome.shares, style.color(outcome.trial.trick)
    found = [each.effect for each in outcome.at_every_dose]
    at, means = np.arange(len(found)), [each.mean for each in found]
    reach = np.array([[each.mean - each.low, each.high - each.mean] for each in found]).T
    axis.axhline(0, color=style.SOFT, lw=1, ls=DASHED)
    axis.errorbar(at, means, np.nan_to_num(reach), color=color, marker="o", ms=5, lw=1.8, capsize=3)
    axis.set_xticks(at, [f"{dose:g}" for dose in shares])
    axis.set_xlim(-0.4, len(found) - 0.6)
    axis.set_xlabel(outcome.trial.varied)
    sign = {1: "up", -1: "down", 0: "nothing"}[outcome.trial.predicted]
    axis.set_title(outcome.trial.trick, color=color, pad=14)
    rate = "" if outcome.trial.rate is None else f" at lr={outcome.trial.rate:g}"
    axis.text(0, 1.03, f"predicted {sign}{rate}", transform=axis.transAxes, size=7.5, color=style.SOFT)
    axis.grid(axis="y", color=style.FAINT, lw=0.6)


LONGEST = 30  # characters that fit above a panel


def worlds_figure(outcomes: Sequence[Outcome], words: Sequence[str], rates: str, path: Path) -> list[Path]:
    """Draw and save `path` as PNG and SVG: one panel per trial, with its curves with and without the trick.

    words: for each trial, what was predicted and seen. rates: a phrase about the learning rates.
    """
    columns = min(COLUMNS, max(3, len(outcomes)))
    figure, axes = grid(len(outcomes), columns, style.WIDTH / COLUMNS * columns, 2.5, sharey=False)
    for axis, outcome, said in zip(axes, outcomes, words, strict=False):
        trial, steps = outcome.trial, outcome.dose.config.steps
        band(axis, curve(outcome.without.grid(steps)), style.SOFT, DASHED)
        band(axis, curve(outcome.having.grid(steps)), style.color(trial.trick))
        axis.set_title(trial.trick, color=style.color(trial.trick), pad=26)
        size = 7.5 * min(1, LONGEST / max(map(len, said.splitlines())))
        text = axis.text(0, 1.03, said, transform=axis.transAxes, size=size, color=style.SOFT)
        text.set_in_layout(False)  # otherwise the longest would set the width of its column
        thousands(axis)
    seeds = max(len(outcome.having.grid(outcome.dose.config.steps)) for outcome in outcomes)
    said = "bands: pointwise 95% bootstrap intervals" if seeds >= FEWEST else "too few for bands"
    title(figure, f"Each trick in a world made for it: with (color), without (gray, dashed)\n{seeds} seeds, {said}")
    figure.supxlabel(f"environment steps (thousands); {rates}", size=9, color=style.INK)
    figure.supylabel("episode return", size=9, color=style.INK)
    return save(figure, path)


def sweep_figure(runs: pd.DataFrame, about: str, path: Path) -> list[Path]:
    """Draw and save one panel per number that was varied. path: without suffix."""
    names = varied(runs)
    figure, axes = grid(len(names), len(names), max(6, 3.2 * len(names)), 2.5)
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
    found = best_of_each(runs, name)
    at = [places[best.value] for best in found]
    reach = np.array([[best.mean - best.low, best.high - best.mean] for best in found]).T
    axis.errorbar(at, [best.mean for best in found], reach, color=style.INK, marker="o", ms=4, lw=1.6, capsize=2)
    axis.set_xticks(list(places.values()), [f"{value:g}" for value in places], size=7.5 if len(places) > 5 else None)
    axis.set_xlabel(name)
    axis.grid(axis="y", color=style.FAINT, lw=0.6)


ACROSS = 6
LETTERS = 22  # of tick labels that fit below a panel


def choices_figure(table: pd.DataFrame, about: str, path: Path) -> list[Path]:
    """Draw and save one panel per choice. table: of `choices`; path: without suffix."""
    panels = sorted(table.groupby("choice", sort=False), key=lambda pair: -float(pair[1].explained.iloc[0]))
    figure, axes = grid(len(panels), ACROSS, style.WIDTH, 2.3)
    for axis, (name, levels) in zip(axes, panels, strict=False):
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
        middle = levels[column].to_numpy()
        reach = np.array([middle - levels[f"{column}_low"], levels[f"{column}_high"] - middle]).clip(min=0)
        axis.errorbar(at, middle, reach, color=color, marker=marker, ms=4, lw=1.4, capsize=2)
    ticks = [f"{x:.1g}" if " to " in level else level for level, x in zip(levels.level, levels.middle, strict=True)]
    slanted: dict[str, Any] = (
        {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if len("".join(ticks)) > LETTERS else {}
    )
    axis.set_xticks(at, ticks, size=7, **slanted)
    axis.set_xlim(-0.4, len(levels) - 0.6)
    axis.set_title(name, color=color, pad=14)
    said = f"{max(0, 100 * levels.explained.iloc[0]):.1f}% of the variance"
    axis.text(0, 1.03, said, transform=axis.transAxes, size=7.5, color=style.SOFT)
    axis.grid(axis="y", color=style.FAINT, lw=0.6)
