"""Learning curves as small multiples: a panel a rung, against the rung before; a panel a world, with and without."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ablations import style
from ablations.stats import FEWEST, interval

if TYPE_CHECKING:
    from ablations.worlds import Outcome

COLUMNS = 6


def ladder_figure(curves: dict[str, pd.DataFrame], env: str, rates: str, missing: list[str], path: Path) -> list[Path]:
    """Draw and save `path` as PNG and SVG. curves: arm name -> grid of returns, a row a seed, a column a step.

    rates says at which learning rates; missing names the arms without all their results, and is shown.
    """
    style.use()
    rows = -(-(len(curves) + 1) // COLUMNS)
    figure, axes = plt.subplots(
        rows,
        COLUMNS,
        figsize=(12, 1.9 * rows + 0.9),
        sharex=True,
        sharey=True,
        layout="constrained",
        squeeze=False,
    )
    panels = list(axes.flat)
    names = list(curves)
    for i, name in enumerate(names):
        _panel(panels[i], name, curves, names[i - 1] if i else None)
    _legend(panels[len(names)], min(len(grid) for grid in curves.values()))
    for spare in panels[len(names) + 1 :]:
        spare.axis("off")
    for i in range(len(names), len(panels)):  # the panels above an empty cell carry the labels of their column
        above = panels[i - COLUMNS] if i >= COLUMNS else None
        if above is not None:
            above.tick_params(labelbottom=True)
    figure.supxlabel("environment steps (thousands)", size=10, color=style.INK)
    figure.supylabel("episode return", size=10, color=style.INK)
    seeds = max(len(grid) for grid in curves.values())
    title = f"From REINFORCE up, one trick at a time: {env}, {seeds} seeds, {rates}"
    if missing:
        title += f"\nINCOMPLETE: no result for {', '.join(missing)}"
    figure.suptitle(title, size=12, weight="bold", x=0.01, ha="left", color=style.INK)
    return _save(figure, path)


def worlds_figure(outcomes: Sequence["Outcome"], words: Sequence[str], rates: str, path: Path) -> list[Path]:
    """Draw and save `path` as PNG and SVG: a panel a trial, its curve with the trick and without.

    words says about each trial what was predicted and seen; rates says at which learning rates.
    """
    style.use()
    columns = min(COLUMNS, max(3, len(outcomes)))
    rows = -(-len(outcomes) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(2.4 * columns, 2.5 * rows + 0.9), layout="constrained", squeeze=False
    )
    for axis, outcome, said in zip(axes.flat, outcomes, words, strict=False):
        trial, steps = outcome.trial, outcome.trial.config.steps
        _band(axis, outcome.without.grid(steps), style.SOFT, dash=(0, (3, 1.5)))
        _band(axis, outcome.having.grid(steps), style.color(trial.trick))
        axis.set_title(trial.trick, color=style.color(trial.trick), pad=26)
        text = axis.text(0, 1.03, said, transform=axis.transAxes, size=7.5, color=style.SOFT)
        text.set_in_layout(False)  # else the longest would set the width of its column
        _thousands(axis)
    for spare in axes.flat[len(outcomes) :]:
        spare.axis("off")
    seeds = max(len(outcome.having.grid(outcome.trial.config.steps)) for outcome in outcomes)
    title = "Each trick in a world made for it: with (color), without (gray, dashed)"
    band = "bands: pointwise 95% bootstrap intervals" if seeds >= FEWEST else "too few for bands"
    figure.suptitle(f"{title}\n{seeds} seeds, {band}", size=12, weight="bold", x=0.01, ha="left", color=style.INK)
    figure.supxlabel(f"environment steps (thousands); {rates}", size=9, color=style.INK)
    figure.supylabel("episode return", size=9, color=style.INK)
    return _save(figure, path)


def _band(axis: Axes, grid: pd.DataFrame, color: str, dash: Any = "-") -> None:
    steps, mean = _mean(grid)
    axis.fill_between(steps, *interval(grid.to_numpy()), color=color, alpha=0.22, lw=0)
    axis.plot(steps, mean, color=color, ls=dash)


def _save(figure: Figure, path: Path) -> list[Path]:
    paths = [path.with_suffix(suffix) for suffix in (".png", ".svg")]
    for target in paths:
        figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)
    plt.close(figure)
    return paths


def _panel(axis: Axes, name: str, curves: dict[str, pd.DataFrame], before: str | None) -> None:
    for other in curves:
        axis.plot(*_mean(curves[other]), color=style.FAINT, lw=0.8, zorder=0.5)
    if before is not None:
        axis.plot(*_mean(curves[before]), color=style.SOFT, lw=1.4, ls=(0, (3, 1.5)), zorder=0.8)
    _band(axis, curves[name], style.color(name))
    axis.set_title(name, color=style.color(name))
    _thousands(axis)
    axis.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))


def _thousands(axis: Axes) -> None:
    axis.xaxis.set_major_formatter(FuncFormatter(lambda step, _: f"{step / 1000:g}"))
    axis.xaxis.set_major_locator(MaxNLocator(3))


def _mean(grid: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    return grid.columns.to_numpy(dtype=float), grid.mean().to_numpy()


def _legend(axis: Axes, seeds: int) -> None:
    axis.axis("off")
    band = "band: pointwise 95% bootstrap\ninterval of the mean over seeds"
    lines = [
        (style.INK, 2.0, "-", "this rung, with all before it"),
        (style.SOFT, 1.4, (0, (3, 1.5)), "the rung before"),
        (style.FAINT, 0.8, "-", "all other rungs"),
    ]
    for i, (color, width, dash, text) in enumerate(lines):
        y = 0.9 - 0.2 * i
        axis.plot([0.02, 0.14], [y, y], color=color, lw=width, ls=dash, transform=axis.transAxes)
        axis.text(0.19, y, text, va="center", transform=axis.transAxes, color=style.INK, size=8.5)
    note = band if seeds >= FEWEST else f"no band: fewer than {FEWEST} seeds"
    axis.text(0.02, 0.2, note, va="center", transform=axis.transAxes, color=style.INK, size=8.5)
