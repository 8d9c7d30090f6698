"""The figure of a random design: the scores given each choice, the choice that explains most first."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ablations.figures import style
from ablations.figures.panels import title
from ablations.figures.saving import save

COLUMNS = 6
LETTERS = 22  # of tick labels that fit below a panel


def choices_figure(table: pd.DataFrame, about: str, path: Path) -> list[Path]:
    """Draw and save one panel per choice. table: of `choices`; path: without suffix."""
    style.use()
    panels = sorted(table.groupby("choice", sort=False), key=lambda pair: -float(pair[1].explained.iloc[0]))
    rows = -(-len(panels) // COLUMNS)
    size = (style.WIDTH, 2.3 * rows + 0.8)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=size, layout="constrained", squeeze=False, sharey=True)
    for axis, (name, levels) in zip(axes.flat, panels, strict=False):
        draw_choice(axis, str(name), levels)
    for spare in axes.flat[len(panels) :]:
        spare.axis("off")
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
