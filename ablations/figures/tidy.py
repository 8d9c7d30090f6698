"""Learning curves of any tidy table: the mean over seeds, or its interquartile mean, with intervals."""

from collections.abc import Callable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from ablations.analysis.stats import FEWEST, iqm
from ablations.figures import style
from ablations.figures.curves import curve
from ablations.figures.ends import label_lines
from ablations.figures.panels import Line, band, thousands, title
from ablations.training.scores import on_grid
from tricks.errors import InputError

STATISTICS: dict[str, tuple[str, Callable[..., Any]]] = {"mean": ("mean", np.mean), "iqm": ("interquartile mean", iqm)}
SIZE = (8.5, 3.8)


def figure(
    frames: Any,
    by: str = "arm",
    y: str = "return",
    statistic: str = "mean",
    said: str = "",
    colors: Mapping[str, str] | None = None,
) -> Figure:
    """Draw a line per group with its pointwise 95% bootstrap interval over seeds, and its name at its end.

    frames: a table with a row per group, seed and step (columns `by`, seed, step, and `y`), or what has such a table as
    `.curves` and, as `.runs`, tells where seeds diverged. Seeds are interpolated to a common grid up to the last step
    that all groups reach. statistic: mean or iqm. said: the title. colors: of groups. Raises InputError for a table
    without these columns, or in which steps go back.
    """
    if statistic not in STATISTICS:
        raise InputError(f"unknown statistic {statistic!r}; there are {' and '.join(STATISTICS)}")
    style.use()
    grids, (what, of) = on_grids(frames, by, y), STATISTICS[statistic]
    shown, axis = plt.subplots(figsize=SIZE, layout="constrained")
    for (name, grid), color in zip(grids.items(), _colors(list(grids), colors), strict=True):
        line = curve(grid, of)
        band(axis, line, color)
        axis.lines[-1].set_label(f"{name}: no value" if np.isnan(line.y).all() else name)
    thousands(axis)
    axis.xaxis.set_major_locator(MaxNLocator(6))
    axis.margins(x=0)
    counts = [len(grid) for grid in grids.values()]
    where = f" where there are {FEWEST} seeds or more" if min(counts) < FEWEST else ""
    bands = f"; band: pointwise 95% bootstrap interval{where}" if max(counts) >= FEWEST else ""
    axis.set(xlabel="environment steps (thousands)", ylabel={"return": "episode return"}.get(y, y.replace("_", " ")))
    _subtitle(axis, f"{what} over seeds{bands}")
    shown.draw_without_rendering()  # so that label_lines knows how high the axis is
    label_lines(axis)
    if said:
        title(shown, said)
    return shown


def on_grids(frames: Any, by: str = "arm", y: str = "return") -> dict[str, pd.DataFrame]:
    """Each group's values on one grid of steps: a row per seed, a column per step. Raises InputError as `figure`."""
    curves = frames if isinstance(frames, pd.DataFrame) else frames.curves
    if missing := [name for name in (by, "seed", "step", y) if name not in curves]:
        raise InputError(f"the table has no column {missing[0]!r}; it has {', '.join(map(str, curves.columns))}")
    rows = curves[[by, "seed", "step", y]].rename(columns={y: "return"})
    rows = rows[rows[by].notna()]
    if rows.empty:
        raise InputError("the table has no rows")
    back = rows.groupby([by, "seed"], sort=False).step.diff() < 0
    if back.any():
        where = rows[back].iloc[0]
        raise InputError(f"steps go back in {where[by]}, seed {where.seed}, at step {where.step:,}")
    groups = {str(name): own for name, own in rows.groupby(by, sort=False)}
    if rows["return"].isna().all():
        raise InputError(f"the table has no {y}: all are missing")
    last = min(int(own.groupby("seed").step.max().max()) for own in groups.values())
    diverged = {} if isinstance(frames, pd.DataFrame) else _diverged(frames.runs, by)
    return {name: on_grid(own, last, diverged.get(name, {})) for name, own in groups.items()}


def _diverged(runs: pd.DataFrame, by: str) -> dict[str, dict[int, int]]:
    """Of each group, the step at which each diverged seed did so."""
    found: dict[str, dict[int, int]] = {}
    for row in runs[runs.diverged.notna()].to_dict("records"):
        found.setdefault(str(row[by]), {})[int(row["seed"])] = int(row["diverged"])
    return found


def rows_behind(grids: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The curves of `on_grids` as a tidy table of arm, seed, step, return."""
    parts = []
    for name, grid in grids.items():
        rows = grid.rename_axis("seed").reset_index().melt("seed", var_name="step", value_name="return")
        parts.append(rows.assign(arm=name)[["arm", "seed", "step", "return"]])
    return pd.concat(parts)


def by_rate_figure(by_rate: pd.DataFrame, said: str, colors: Mapping[str, str] | None = None) -> Figure:
    """Mean area against the learning rate, a line per arm with its 95% interval.

    by_rate: as from `differences_by_rate`.
    """
    style.use()
    shown, axis = plt.subplots(figsize=SIZE, layout="constrained")
    names = list(dict.fromkeys(by_rate.arm))
    for name, color in zip(names, _colors(names, colors), strict=True):
        own = by_rate[by_rate.arm == name]
        band(axis, Line(*(own[each].to_numpy() for each in ("lr", "area", "area_low", "area_high"))), color)
        axis.lines[-1].set(label=name, marker="o", markersize=4.5)
    _rates(axis, sorted(set(by_rate.lr)))
    axis.set(xlabel="learning rate (log scale)", ylabel="area under the curve\n(mean return over training)")
    _subtitle(axis, f"{int(by_rate.seeds.max())} tuning seeds per rate; band: 95% bootstrap interval of the mean")
    shown.draw_without_rendering()
    label_lines(axis)
    title(shown, said)
    return shown


def _subtitle(axis: Axes, text: str) -> None:
    axis.set_title(text, loc="left", color=style.SOFT, size=8.5, weight="normal")


def _rates(axis: Axes, rates: list[float]) -> None:
    axis.set_xscale("log")
    axis.set_xticks(rates)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda lr, _: f"{lr:g}"))
    axis.xaxis.set_minor_locator(NullLocator())


def _colors(names: list[str], given: Mapping[str, str] | None) -> list[str]:
    """A color for each name, all different: the given ones, and for the others black and then those of the style."""
    own = {name: color for name, color in (given or {}).items() if name in names}
    free = [color for color in (style.INK, *style.OTHERS[2:], *style.COLORS.values()) if color not in own.values()]
    others = iter(free * (1 + len(names) // len(free)))
    return [own.get(name) or next(others) for name in names]
