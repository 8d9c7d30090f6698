"""A trick's effect in each environment: at every learning rate, and with each arm at its own best."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ablations.figures import style
from ablations.figures.panels import title

HEIGHT = 3.2
OWN = "own\nbest"


class Effects(NamedTuple):
    """The effects in one environment."""

    best: Mapping[str, float]
    """`difference, low, high` with each arm at its rate."""
    by_rate: pd.DataFrame
    """Rows of `lr, difference, low, high`; may be empty."""


def judged_figure(found: Mapping[str, Effects], said: str, color: str, sides: tuple[str, str]) -> Figure:
    """One panel per environment: differences in area with their 95% intervals. said: the title.

    sides: the two arms in words; the difference is the second minus the first.
    """
    style.use()
    width = min(style.WIDTH, max(5.0, 3.6 * len(found)))
    figure, axes = plt.subplots(1, len(found), figsize=(width, HEIGHT), layout="constrained", squeeze=False)
    for axis, (env, effects) in zip(axes[0], found.items(), strict=True):
        rows: list[dict[Any, Any]] = [*effects.by_rate.sort_values("lr").to_dict("records"), dict(effects.best)]
        names = [f"{row['lr']:g}" for row in rows[:-1]] + [OWN if len(rows) > 1 else "as given"]
        for place, row in enumerate(rows):
            last = place == len(rows) - 1
            reach = np.nan_to_num([[row["difference"] - row["low"]], [row["high"] - row["difference"]]])
            look: Any = {
                "color": color if last else style.SOFT,
                "marker": "o",
                "ms": 7 if last else 5,
                "lw": 2 if last else 1.4,
            }
            axis.errorbar([place], [row["difference"]], reach, **look)
        axis.axhline(0, color=style.INK, lw=0.8)
        axis.set_xticks(range(len(rows)), names)
        axis.set_xlim(-0.5, len(rows) - 0.5)
        axis.set_title(env, loc="left", size=10)
    axes[0, 0].set_ylabel(f"difference in area (return)\n{sides[1]} − {sides[0]}")
    figure.supxlabel("learning rate of both arms; colored: each arm at its own best", size=9)
    title(figure, said)
    return figure
