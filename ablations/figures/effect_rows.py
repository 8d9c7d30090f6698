"""Effects in rows: one row per trick, one mark with its interval per effect."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ablations.figures import style
from ablations.figures.cells import names

AGAIN = 0.1  # rows from an effect to its second try


def draw_effect(axis: Axes, y: float, row: dict[Any, Any], shape: str, filled: bool) -> None:
    """Draw a difference with its interval, in its trick's color, filled or hollow."""
    color = style.color(row["trick"])
    axis.plot([row["low"], row["high"]], [y, y], color=color, lw=1.6, zorder=2)
    axis.plot(row["difference"], y, shape, color=color, mfc=color if filled else "white", mew=1.4, ms=5.5, zorder=3)


def draw_again(axis: Axes, y: float, row: dict[Any, Any]) -> None:
    """Draw what a second try of an effect showed, thin and below it; nothing if there was none."""
    if np.isfinite(row["again"]):
        color, below = style.color(row["trick"]), y + AGAIN
        axis.plot([row["again_low"], row["again_high"]], [below, below], color=color, lw=1, alpha=0.6, zorder=2)
        axis.plot(row["again"], below, "|", color=color, ms=5, mew=1.4, zorder=3)


def name_rows(axis: Axes, tricks: Sequence[str], label: str) -> None:
    """Set up one row per trick, from the top, with every other row shaded and a line at 0."""
    for row in range(0, len(tricks), 2):
        axis.axhspan(row - 0.5, row + 0.5, color="#f5f5f5", lw=0, zorder=0)
    axis.axvline(0, color=style.SOFT, lw=1, zorder=1)
    axis.set_yticks(range(len(tricks)), tricks)
    axis.set_ylim(len(tricks) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.set_xlabel(label)
    names(axis.get_yticklabels(), tricks)


def about_rates(effects: pd.DataFrame) -> str:
    """A caveat about the learning rates behind some effects, and where; empty if all were tuned for this setting."""
    some = effects[effects.tuned != ""]
    elsewhere = "env" in effects and some.env.nunique() < effects.env.nunique()
    where = f" on {', '.join(dict.fromkeys(some.env))}" if elsewhere else ""
    return f"; learning rates {', '.join(sorted({*some.tuned}))}{where}" if len(some) else ""
