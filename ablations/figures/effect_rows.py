"""Effects in rows: a trick a row, a mark with its interval an effect."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from ablations.figures import style
from ablations.figures.cells import names


def draw_effect(axis: Axes, y: float, row: dict[Any, Any], shape: str, filled: bool) -> None:
    """A difference with its interval, in its trick's color, filled or hollow."""
    color = style.color(row["trick"])
    axis.plot([row["low"], row["high"]], [y, y], color=color, lw=1.6, zorder=2)
    axis.plot(row["difference"], y, shape, color=color, mfc=color if filled else "white", mew=1.4, ms=5.5, zorder=3)


def name_rows(axis: Axes, tricks: Sequence[str], label: str) -> None:
    """A row a trick, from the top, every other one shaded; a line at 0."""
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
    """What is to be said about the learning rates of some effects; nothing if all were tuned for this."""
    said = sorted({*effects.tuned} - {""})
    return f"; learning rates {', '.join(said)}" if said else ""
