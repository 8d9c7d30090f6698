"""Figures for the chapters, in the style of the ablations."""

import warnings
from collections.abc import Mapping
from dataclasses import replace

import matplotlib.pyplot as plt
import pandas as pd
import torch
from IPython.display import Markdown, display
from matplotlib.axes import Axes

from ablations import band, best_rate, curve, label_lines, on_grid, style, thousands
from chapters.book.alternative import describe_figures
from tricks import Config, Run, Tricks

ADDS = "what the trick adds: 0 is nothing, 1 the way from a random policy to the ceiling"
__all__ = ["at_best_rate", "begin", "caption", "curves", "label_lines", "learning_curve", "over_steps"]


def begin() -> None:
    """Draw in the book's style, describe every figure, and compute in one thread, fastest for tensors this small."""
    torch.set_num_threads(1)
    plt.rcParams.update(style.SETTINGS)
    plt.rcParams.update({"figure.figsize": (7, 3), "figure.dpi": 110, "figure.constrained_layout.use": True})
    describe_figures()
    warnings.filterwarnings("ignore", module="gymnasium")


def caption(said: str) -> None:
    """Say what is worth knowing about the figure above, as a line of text. said: Markdown."""
    display(Markdown(f"*{said}*"))


def at_best_rate(config: Config, tricks: Tricks) -> Config:
    """The config with the learning rate tuned for these tricks, on seeds that are only used for tuning."""
    return replace(config, lr=best_rate(config, tricks).value)


def curves(runs: Mapping[str, Run], axis: Axes | None = None, **colors: str) -> Axes:
    """Mean return over seeds against steps, with the pointwise 95% bootstrap interval of that mean.

    runs: keyed by the line's name; a line named after a trick gets its color, and a bug always the same one.
    colors: those of other lines, by name. An interval needs five seeds.
    """
    axis = plt.subplots()[1] if axis is None else axis
    known, others = style.COLORS | {"with the bug": style.FAULT} | colors, iter(style.OTHERS)
    for name, run in runs.items():
        grid = on_grid(run.curve, run.config.steps, run.diverged)
        learning_curve(axis, name, grid, known.get(name) or next(others))
    over_steps(axis)
    axis.set_ylabel("episode return")
    return axis


def learning_curve(axis: Axes, name: str, grid: pd.DataFrame, color: str) -> None:
    """Draw and label the mean over seeds with its band. grid: one row per seed, one column per step."""
    band(axis, curve(grid), color)
    axis.lines[-1].set_label(name)


def draw_effects(axis: Axes, rows: pd.DataFrame, names: list[str]) -> None:
    """A row for each of these tricks: its effect with its 95% interval, and a dot, filled if `full` says so."""
    axis.axvline(0, color=style.SOFT, lw=0.8)
    for row in rows.to_dict("records"):
        place, sign = names.index(row["trick"]), row["difference"] > 0
        color = (style.FAULT, style.OTHERS[2])[sign] if row["full"] else style.SOFT
        axis.plot((row["low"], row["high"]), (place, place), color=color, lw=1.4)
        axis.plot(row["difference"], place, "o", ms=5, color=color, mfc=color if row["full"] else "white")
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)


def over_steps(axis: Axes) -> None:
    """Finish an axis of learning curves: steps in thousands, and the lines' names at their ends."""
    thousands(axis)
    axis.margins(x=0)
    axis.set_xlabel("environment steps (thousands)")
    label_lines(axis)
