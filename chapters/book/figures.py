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


def curves(runs: Mapping[str, Run], axis: Axes | None = None) -> Axes:
    """Mean return over seeds against steps, with the pointwise 95% bootstrap interval of that mean.

    runs: keyed by the line's name; a line named after a trick gets its color. An interval needs five seeds.
    """
    axis = plt.subplots()[1] if axis is None else axis
    colors = iter(style.OTHERS)
    for name, run in runs.items():
        grid = on_grid(run.curve, run.config.steps, run.diverged)
        learning_curve(axis, name, grid, style.COLORS.get(name) or next(colors))
    over_steps(axis)
    axis.set_ylabel("episode return")
    return axis


def learning_curve(axis: Axes, name: str, grid: pd.DataFrame, color: str) -> None:
    """Draw and label the mean over seeds with its band. grid: one row per seed, one column per step."""
    band(axis, curve(grid), color)
    axis.lines[-1].set_label(name)


def over_steps(axis: Axes) -> None:
    """Finish an axis of learning curves: steps in thousands, and the lines' names at their ends."""
    thousands(axis)
    axis.margins(x=0)
    axis.set_xlabel("environment steps (thousands)")
    label_lines(axis)
