"""Figures for the chapters, in the style of the ablations."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes

from ablations import band, best_rate, curve, on_grid, style, thousands
from tricks import Config, Run, Tricks


def begin() -> None:
    """Draw in the book's style, and compute in one thread, which is fastest for tensors this small."""
    torch.set_num_threads(1)
    plt.rcParams.update(style.SETTINGS)
    plt.rcParams.update({"figure.figsize": (7, 3), "figure.dpi": 110, "figure.constrained_layout.use": True})
    warnings.filterwarnings("ignore", module="gymnasium")


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


def learning_curve(axis: Axes, name: str, grid: pd.DataFrame, color: str, dash: Any = "-") -> None:
    """Draw and label the mean over seeds with its band. grid: one row per seed, one column per step."""
    band(axis, curve(grid), color, dash)
    axis.lines[-1].set_label(name)


def over_steps(axis: Axes) -> None:
    """Finish an axis of learning curves: steps in thousands, and the lines' names at their ends."""
    thousands(axis)
    axis.margins(x=0)
    axis.set_xlabel("environment steps (thousands)")
    label_lines(axis)


def label_lines(axis: Axes, size: float = 9) -> None:
    """Write each labeled line's name at its right end, in its color, and move names apart if they would overlap."""
    lines = [line for line in axis.lines if not str(line.get_label()).startswith("_")]
    ends = [_end(axis, np.asarray(line.get_ydata(), float)) for line in lines]
    height = axis.get_window_extent().height / axis.figure.dpi * 72  # points
    places = spread(ends, gap=1.5 * size / height)
    for line, place in zip(lines, places, strict=True):
        text = axis.text(1.02, place, str(line.get_label()), transform=axis.transAxes, va="center", size=size)
        text.set(color=line.get_color(), weight="bold")


def _end(axis: Axes, y: np.ndarray) -> float:
    """The height at which a line ends, as a share of the axis; of a line that ends outside, the nearest edge."""
    known = y[np.isfinite(y)]
    last = known[-1] if len(known) else 0.0
    ends = axis.transAxes.inverted().transform(axis.transData.transform((axis.get_xlim()[1], last)))
    return float(np.clip(ends[1], 0, 1))


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Push places apart until they are at least `gap` apart, in the same order."""
    order = np.argsort(places, kind="stable")
    moved = np.array(places, float)[order]
    for _ in range(100):
        overlap = np.maximum(gap - np.diff(moved), 0)
        if not overlap.any():
            break
        moved[:-1] -= overlap / 2
        moved[1:] += overlap / 2
    found = np.empty(len(places))
    found[order] = moved
    return found.tolist()
