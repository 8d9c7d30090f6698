"""A run's figure, curve.png: the return over environment steps, with its spread over seeds."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pandas as pd

from tricks.config import Config
from tricks.runs.files import write_whole
from tricks.runs.learning_curve import FEWEST, students_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WINDOWS = 50  # equal parts of the budget; each point of a line is the mean over one
SIZE = (7, 4)  # inches
LINE, SECOND = "#0077BB", "#EE7733"


class Curved(Protocol):
    """What of a `Run` is drawn."""

    @property
    def config(self) -> Config: ...
    @property
    def curve(self) -> pd.DataFrame: ...


def draw_curve(run: Curved, path: Path) -> None:
    """Plot the run's curve to `path`. Raises InputError if that fails."""
    box = io.BytesIO()
    curve_figure(run).savefig(box, dpi=150, format="png")
    write_whole(path, box.getvalue())


def curve_figure(run: Curved) -> "Figure":
    """A figure with the run's curve."""
    from matplotlib.figure import Figure  # slow to import; without pyplot it needs no display

    figure = Figure(figsize=SIZE, layout="constrained")
    draw_on(figure.subplots(), run)
    return figure


def new_axes() -> "Axes":
    """Axes of a new figure of pyplot's, which notebooks and `plt.show()` show."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=SIZE, layout="constrained")[1]


def draw_on(axes: "Axes", run: Curved) -> None:
    """Mean return over seeds with its 95% interval by Student's t, or with each seed's line if fewer than FEWEST.

    Greedy evaluations, if any, are drawn the same way as a second line. A dotted line stands where the run was
    continued.
    """
    plain = run.curve.assign(one=1)
    means = in_windows(plain, run.config.steps, "return", "episodes")
    _draw_line(axes, means, LINE, "in training")
    if plain["eval_return"].notna().any():
        _draw_line(axes, in_windows(plain, run.config.steps, "eval_return", "one"), SECOND, "greedy evaluation")
        axes.legend(frameon=False)
    for step in run.curve.attrs.get("joined", []):
        axes.axvline(step, color="0.6", linewidth=0.8, linestyle=":")
        axes.text(step, 0.01, " continued", color="0.4", fontsize=8, transform=axes.get_xaxis_transform())
    start = run.curve.attrs.get("from")
    count, asked = means.shape[1], len(run.config.seed_list)
    shown = "mean and 95% interval over" if count >= FEWEST else "mean of"
    seeds = f"{count} seed{'s' * (asked > 1)}" if count == asked else f"{count} of {asked} seeds"
    axes.set_title(f"{run.config.env}: {shown} {seeds}", loc="left", fontsize=10)
    axes.set_xlabel("environment steps of each seed" + (f", from the agents of {start}" if start else ""))
    axes.set_ylabel("return")
    axes.set_xlim(0, run.config.steps)
    axes.spines[["top", "right"]].set_visible(False)


def in_windows(curve: pd.DataFrame, steps: int, column: str, weight: str) -> pd.DataFrame:
    """The weighted mean of a column in each of WINDOWS equal parts of the budget: rows are windows, columns seeds.

    The index is the end of each window; windows in which no seed has a value are left out. A seed without a value in a
    window keeps its previous one; before its first value, it has NaN.
    """
    known = curve.dropna(subset=column)
    window = np.ceil(known["step"] / steps * WINDOWS).clip(upper=WINDOWS).rename("window")  # the last update overshoots
    total = (known[column] * known[weight]).groupby([window, known["seed"]]).sum()
    means = (total / known[weight].groupby([window, known["seed"]]).sum()).unstack("seed")
    return means.set_axis(means.index * steps / WINDOWS).ffill()


def _draw_line(axes: "Axes", means: pd.DataFrame, color: str, label: str) -> None:
    means = means.dropna()  # start where every seed has a value
    axes.plot(means.index, means.mean(axis=1), color=color, label=label)
    if means.shape[1] >= FEWEST:
        low, high = students_interval(means.to_numpy().T)
        axes.fill_between(means.index, low, high, color=color, alpha=0.2, linewidth=0)
    else:
        axes.plot(means.index, means, color=color, alpha=0.35, linewidth=1)
