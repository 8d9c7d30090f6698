"""Figures of a sweep: the score against each number, and a map of two of them."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablations.analysis.sweeps import best_of_each, means, varied
from ablations.figures import style
from ablations.figures.panels import title
from ablations.figures.saving import save


def sweep_figure(runs: pd.DataFrame, about: str, path: Path) -> list[Path]:
    """Draw and save one panel per number that was varied, and a map of the first two. path: without suffix."""
    style.use()
    names = varied(runs)
    panels = len(names) + (len(names) > 1)
    figure, axes = plt.subplots(1, panels, figsize=(max(6, 3.2 * panels), 3.4), layout="constrained", squeeze=False)
    for axis, name in zip(axes[0], names, strict=False):
        draw_number(axis, runs, name)
    for axis in axes[0, 1 : len(names)]:
        axis.sharey(axes[0, 0])
        axis.tick_params(labelleft=False)
    axes[0, 0].set_ylabel("mean episode return over training")
    if len(names) > 1:
        draw_map(figure, axes[0, -1], runs, names[:2])
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


def draw_map(figure: Figure, axis: Axes, runs: pd.DataFrame, names: Sequence[str]) -> None:
    """The best mean at each pair of values of two numbers."""
    best = means(runs, varied(runs)).groupby(list(names)).max().unstack(names[1])
    picture = axis.imshow(best.to_numpy(), origin="lower", aspect="auto", cmap="viridis")
    middle = np.nanmean(best.to_numpy())
    for i, row in enumerate(best.to_numpy()):
        for j, score in enumerate(row):
            color = "white" if score < middle else style.INK
            said = f"{score:.0f}" if abs(score) >= 100 else f"{score:.3g}"
            axis.text(j, i, said, ha="center", va="center", size=7.5, color=color)
    axis.set_xticks(range(len(best.columns)), [f"{value:g}" for value in best.columns])
    axis.set_yticks(range(len(best.index)), [f"{value:g}" for value in best.index])
    axis.set(xlabel=names[1], ylabel=names[0])
    figure.colorbar(picture, ax=axis, label="best mean return")
