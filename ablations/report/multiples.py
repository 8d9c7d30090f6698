"""Small multiples: a design's curves, trials, doses, numbers of a sweep, random choices; and a line per group."""

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ablations.analysis.agents import best_of_each, means, varied
from ablations.analysis.outcomes import Outcome
from ablations.analysis.records import Study, grid
from ablations.analysis.stats import FEWEST, interval, iqm
from ablations.question.arms import Arm, Design
from ablations.question.story import story_of
from ablations.report import style
from ablations.report.style import save
from ablations.training.scores import on_grid
from tricks.errors import InputError

COLUMNS, TRIALS = 6, 5  # panels in a row; of trials
DASHED: Any = (0, (3, 1.5))
LETTERS = 29  # characters of small print that fit above a panel
LINE = 10  # height of a line of small print, in points
STATISTICS: dict[str, tuple[str, Callable[..., Any]]] = {"mean": ("mean", np.mean), "iqm": ("interquartile mean", iqm)}


class Line(NamedTuple):
    """A value for each x, and the ends of its band, NaN where there is none."""

    x: np.ndarray
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray


def curve(grid: pd.DataFrame, statistic: Callable[..., Any] = np.mean) -> Line:
    """The mean over seeds with its interval, or another statistic. grid: one row per seed, one column per step.

    A seed without a return is left out, and then there is no interval.
    """
    known = grid.dropna()
    value = grid.mean() if statistic is np.mean or known.empty else pd.Series(statistic(known.to_numpy(), axis=0))
    return Line(grid.columns.to_numpy(dtype=float), value.to_numpy(), *interval(grid.to_numpy(), statistic))


def band(axis: Axes, line: Line, color: str, dash: Any = "-") -> None:
    """Draw a line with its band."""
    axis.fill_between(line.x, line.low, line.high, color=color, alpha=0.22, lw=0)
    axis.plot(line.x, line.y, color=color, ls=dash)


def thousands(axis: Axes, ticks: int = 3) -> None:
    """Label steps in thousands, with few ticks."""
    axis.xaxis.set_major_formatter(FuncFormatter(lambda step, _: f"{step / 1000:g}"))
    axis.xaxis.set_major_locator(MaxNLocator(ticks))


def title(figure: Figure, text: str) -> None:
    """Write the figure's title at its left edge, wrapped to its width."""
    text = fill_lines(text, int(9.2 * figure.get_figwidth()))
    figure.suptitle(text, size=12, weight="bold", x=0.01, ha="left", color=style.INK)


def fill_lines(text: str, letters: int) -> str:
    return "\n".join(fill(line, letters) for line in text.splitlines())


def lacking(names: Sequence[str]) -> str:
    """A line for the title that names what is missing; empty if nothing is."""
    return f"\nINCOMPLETE: lacks runs of {'; '.join(names)}" if names else ""


def panels(count: int, columns: int, width: float, height: float, share: Any = False) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, in rows of at most so many columns, and the panels. width: in inches; height: of a
    row. share: their scales (True: x and y; y: only that)."""
    style.use()
    rows = -(-count // columns)
    how: Any = {"figsize": (width, height * rows + 0.9), "sharex": share is True, "sharey": bool(share)}
    figure, axes = plt.subplots(rows, columns, layout="constrained", squeeze=False, **how)
    for spare in axes.flat[count:]:
        spare.axis("off")
    for k, axis in enumerate(axes.flat[:count]):
        axis.tick_params(labelbottom=share is not True or k + columns >= count)  # also above a spare one
    return figure, [*axes.flat[:count]]


def headed(axis: Axes, name: str, said: str, color: str, lines: int = 0) -> None:
    """Write a panel's name, in its color, above small print. lines: of the longest small print, to align the names."""
    lines = lines or said.count("\n") + bool(said)
    pad = 5 + (LINE * lines + 2 if lines else 0)
    axis.set_title(name, color=color, pad=pad)
    look: Any = {"size": 7.5, "color": style.SOFT, "in_layout": False}  # or the longest would set its column's width
    axis.annotate(said, (0, 1), (0, pad - 4), "axes fraction", "offset points", va="top", **look)


def curves_figure(study: Study, design: Design, path: Path) -> list[Path]:
    """Mean returns with 95% bootstrap intervals over seeds, a panel per arm: its line bold, its reference's dashed.

    Nothing for a design without panels, such as a factorial. path: without suffix. Returns the paths.
    """
    told = story_of(design).panels
    if told is None:
        return []
    grids = {arm: grid for arm in design.arms if len(grid := study.grid(arm))}
    lines = {arm: curve(grid) for arm, grid in grids.items()}
    before, notes = {pair.focus: pair.reference for pair in design.comparisons}, dict[Arm, str]()
    shown = [arm for arm in grids if arm in before or arm is design.arms[0]]
    columns = min(COLUMNS, max(4, len(shown)))
    for arm in shown:
        silent = int(grids[arm].isna().any(axis=1).sum())
        heard = f"no episode ended in {silent} seeds: mean of the others" * bool(silent)
        notes[arm] = fill_lines(f"{arm.label.small_print}\n{heard}".strip(), LETTERS * COLUMNS // columns)
    deepest = max((note.count("\n") + bool(note) for note in notes.values()), default=0)
    figure, axes = panels(len(notes), columns, style.WIDTH, 1.9 + deepest * LINE / 72, share=True)
    others = [np.column_stack([lines[arm].x, lines[arm].y]) for arm in notes]
    for axis, (arm, note) in zip(axes, notes.items(), strict=True):
        axis.add_collection(LineCollection(others, color=style.FAINT, lw=0.8, zorder=0.5))
        if (dashed := lines.get(before.get(arm, arm))) and arm in before:
            axis.plot(dashed.x, dashed.y, color=style.SOFT, lw=1.4, ls=DASHED, zorder=0.8)
        band(axis, lines[arm], style.color(arm.label))
        headed(axis, arm.label.heading, note, style.color(arm.label), deepest)
        thousands(axis)
    own = "each arm at its own learning rate" if study.runs.tuned.eq("").all() else "learning rates not tuned for this"
    title(figure, f"{told.title}: {study.env}, {study.seeds} seeds, {own}{lacking(study.missing(design))}")
    meant = "band: pointwise 95% bootstrap interval of the mean over seeds"
    meant = meant if study.seeds >= FEWEST else f"no band: fewer than {FEWEST} seeds"
    looks = "; ".join(f"{look}: {what}" for look, what in zip(("bold", "dashed", "gray"), told.lines, strict=True))
    figure.supxlabel(f"environment steps (thousands)\n{looks}; {meant}", size=9, color=style.INK)
    figure.supylabel("episode return", size=10, color=style.INK)
    behind = [pd.DataFrame({"arm": arm.name} | line._asdict()) for arm, line in lines.items()]
    return save(figure, path, pd.concat(behind).rename(columns={"x": "step", "y": "return"}))


def figure(frames: Any, statistic: str = "mean", said: str = "", colors: Mapping[str, str] | None = None) -> Figure:
    """Draw a line per arm with its pointwise 95% bootstrap interval over seeds, and its name at its end.

    frames: a table with columns arm, seed, step, and return, or what has one as `.curves` and, as `.runs`, tells where
    seeds diverged. Seeds are interpolated to a common grid up to the last step that all arms reach. statistic: mean or
    iqm. said: the title. colors: of arms. InputError without these columns, or where steps go back.
    """
    if statistic not in STATISTICS:
        raise InputError(f"unknown statistic {statistic!r}; there are {' and '.join(STATISTICS)}")
    style.use()
    grids, (what, of) = on_grids(frames), STATISTICS[statistic]
    shown, axis = plt.subplots(figsize=(8.5, 3.8), layout="constrained")
    own = {name: color for name, color in (colors or {}).items() if name in grids}
    free = (style.INK, *style.OTHERS[2:], *style.COLORS.values())
    others = cycle(color for color in free if color not in own.values())
    for name, each in grids.items():
        line = curve(each, of)
        band(axis, line, own.get(name) or next(others))
        axis.lines[-1].set_label(f"{name}: no value" if np.isnan(line.y).all() else name)
    thousands(axis, 6)
    axis.margins(x=0)
    counts = [len(each) for each in grids.values()]
    where = f" where there are {FEWEST} seeds or more" if min(counts) < FEWEST else ""
    bands = f"; band: pointwise 95% bootstrap interval{where}" if max(counts) >= FEWEST else ""
    axis.set(xlabel="environment steps (thousands)", ylabel="episode return")
    axis.set_title(f"{what} over seeds{bands}", loc="left", color=style.SOFT, size=8.5, weight="normal")
    shown.draw_without_rendering()  # so that label_lines knows how high the axis is
    label_lines(axis)
    if said:
        title(shown, said)
    return shown


def label_lines(axis: Axes, size: float = 9) -> None:
    """Write each labeled line's name at its right end or the nearest edge, in its color, so that none overlap."""
    lines = [line for line in axis.lines if not str(line.get_label()).startswith("_")]
    known = [values[np.isfinite(values)] for values in (np.asarray(line.get_ydata(), float) for line in lines)]
    at = [(axis.get_xlim()[1], values[-1] if len(values) else 0.0) for values in known]
    ends = [axis.transAxes.inverted().transform(axis.transData.transform(end))[1].clip(0, 1) for end in at]
    height = axis.get_window_extent().height / axis.figure.dpi * 72  # points
    names = [fill(str(line.get_label()), 28) for line in lines]  # letters in a row
    rows = max((name.count("\n") + 1 for name in names), default=1)
    places = spread(ends, gap=1.5 * rows * size / height)
    for line, name, place in zip(lines, names, places, strict=True):
        text = axis.text(1.02, place, name, transform=axis.transAxes, va="center", size=size)
        text.set(color=line.get_color(), weight="bold")


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Move places as little as possible (least squares), until they are at least `gap` apart, in the same order."""
    from scipy.optimize import isotonic_regression

    order, steps, found = np.argsort(places, kind="stable"), gap * np.arange(len(places)), np.empty(len(places))
    found[order] = isotonic_regression(np.array(places, float)[order] - steps).x + steps
    return found.tolist()


def on_grids(frames: Any) -> dict[str, pd.DataFrame]:
    """Each arm's returns on one grid of steps: a row per seed, a column per step. Raises InputError as `figure`."""
    curves = frames if isinstance(frames, pd.DataFrame) else frames.curves
    if missing := [name for name in ("arm", "seed", "step", "return") if name not in curves]:
        raise InputError(f"the table has no column {missing[0]!r}; it has {', '.join(map(str, curves.columns))}")
    rows = curves[curves.arm.notna()]
    for (arm, seed), own in rows.groupby(["arm", "seed"], sort=False):
        if (back := own.step.diff() < 0).any():
            raise InputError(f"steps go back in {arm}, seed {seed}, at step {own.step[back].iloc[0]:,}")
    if rows["return"].isna().all():
        raise InputError("the table has no return: all are missing")
    arms = {str(name): own for name, own in rows.groupby("arm", sort=False)}
    last = min(own.step.max() for own in arms.values())
    runs = pd.DataFrame(columns=["arm"]) if isinstance(frames, pd.DataFrame) else frames.runs.dropna(subset="diverged")
    stopped = {str(arm): dict(zip(own.seed, own.diverged.astype(int), strict=True)) for arm, own in runs.groupby("arm")}
    return {name: on_grid(own, last, stopped.get(name, {})) for name, own in arms.items()}


def rows_behind(grids: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    wide = {name: grid.melt(var_name="step", value_name="return", ignore_index=False) for name, grid in grids.items()}
    return pd.concat(wide, names=["arm", "seed"]).reset_index()


def dots(axis: Axes, at: Any, middle: Any, low: Any, high: Any, **look: Any) -> None:
    """Draw values with their intervals; an end that is NaN, or on the wrong side, has no bar."""
    middle = np.array(middle)
    reach = np.nan_to_num([middle - low, high - middle]).clip(min=0)
    axis.errorbar(at, middle, reach, **look)
    axis.grid(axis="y", color=style.FAINT, lw=0.6)


def doses_figure(outcomes: Sequence[Outcome], path: Path) -> list[Path]:
    """Draw and save one panel per trial, all on the same scale; nothing if no trial has doses. path: without suffix."""
    dosed = [outcome for outcome in outcomes if outcome.trial.varied]
    if not dosed:
        return []
    columns = min(TRIALS, len(dosed))
    figure, axes = panels(len(dosed), columns, style.WIDTH / TRIALS * max(columns, 2), 2.2, share="y")
    for axis, outcome in zip(axes, dosed, strict=True):  # the effect at every dose, the last one being the claim
        trial, color = outcome.trial, style.color(outcome.trial.trick)
        found = pd.DataFrame([each.effect for each in outcome.at_every_dose])
        axis.axhline(0, color=style.SOFT, lw=1, ls=DASHED)
        dots(axis, found.index, found["mean"], found.low, found.high, color=color, marker="o", ms=5, lw=1.8, capsize=3)
        axis.set_xticks(found.index, [f"{dose:g}" for dose in outcome.shares])
        axis.set(xlim=(-0.4, len(found) - 0.6), xlabel=trial.varied)
        sign = {1: "up", -1: "down", 0: "nothing"}[trial.predicted]
        headed(axis, trial.trick, f"predicted {sign}" + (f" at lr={trial.rate:g}" if trial.rate else ""), color)
    seeds = max(len(outcome.shares) for outcome in dosed)
    title(figure, f"The more of what should make a trick matter, the larger its effect?\n{seeds} seeds, 95% intervals")
    figure.supylabel("with minus without, as a share of the best score", size=9, color=style.INK)
    return save(figure, path)


def worlds_figure(outcomes: Sequence[Outcome], words: Sequence[str], rates: str, path: Path) -> list[Path]:
    """Draw and save a panel per trial: its curves with and without the trick, and words. rates: a phrase about them."""
    columns = min(TRIALS, max(3, len(outcomes)))
    notes = [fill_lines(said, LETTERS * COLUMNS // TRIALS) for said in words]
    deepest = max(note.count("\n") + 1 for note in notes)
    figure, axes = panels(len(outcomes), columns, style.WIDTH / TRIALS * columns, 2.2 + deepest * LINE / 72)
    for axis, outcome, note in zip(axes, outcomes, notes, strict=True):
        trial, steps = outcome.trial, outcome.dose.config.steps
        band(axis, curve(grid(outcome.without, steps)), style.SOFT, DASHED)
        band(axis, curve(grid(outcome.having, steps)), style.color(trial.trick))
        headed(axis, trial.trick, note, style.color(trial.trick), deepest)
        thousands(axis)
    seeds = max(len(outcome.having) for outcome in outcomes)
    said = "bands: pointwise 95% bootstrap intervals" if seeds >= FEWEST else "too few for bands"
    title(figure, f"Each trick in a world made for it: with (color), without (gray, dashed)\n{seeds} seeds, {said}")
    figure.supxlabel(f"environment steps (thousands); {rates}", size=9, color=style.INK)
    figure.supylabel("episode return", size=9, color=style.INK)
    return save(figure, path)


def sweep_figure(runs: pd.DataFrame, about: str, path: Path) -> list[Path]:
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


def choices_figure(table: pd.DataFrame, about: str, path: Path) -> list[Path]:
    """Draw and save one panel per choice. table: of `choices`; path: without suffix."""
    choices = sorted(table.groupby("choice", sort=False), key=lambda pair: -float(pair[1].explained.iloc[0]))
    figure, axes = panels(len(choices), COLUMNS, style.WIDTH, 2.3, share="y")
    for axis, (name, levels) in zip(axes, choices, strict=True):
        at, color = np.arange(len(levels)), style.color(str(name))
        for column, marker in (("q0.5", "o"), ("q0.95", "^")):
            ends = levels[f"{column}_low"], levels[f"{column}_high"]
            dots(axis, at, levels[column], *ends, color=color, marker=marker, ms=4, lw=1.4, capsize=2)
        ticks = [f"{x:.1g}" if " to " in level else level for level, x in zip(levels.level, levels.middle, strict=True)]
        wide = len("".join(ticks)) > 22  # letters, more than fit below a panel
        axis.set_xticks(at, ticks, size=7, rotation=30 * wide, ha="right" if wide else "center", rotation_mode="anchor")
        axis.set_xlim(-0.4, len(levels) - 0.6)
        headed(axis, str(name), f"{max(0, 100 * levels.explained.iloc[0]):.1f}% of the variance", color)
    figure.supylabel("mean episode return over training", size=9, color=style.INK)
    small = "dot: median with its 95% interval; triangle: 95th percentile; below the name: variance explained alone"
    figure.supxlabel(small, size=9, color=style.INK)
    title(figure, about)
    return save(figure, path)
