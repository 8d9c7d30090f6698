"""Cells of an effect matrix: a color centered at 0, the number, and hatching where the seeds can't tell."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from ablations.analysis.effects import MARGIN, certainly_small, has_room
from ablations.analysis.estimates import LEVEL
from ablations.analysis.scales import SCALES
from ablations.figures import style
from tricks.ladder import NEEDS

COLORS = plt.get_cmap("RdBu")  # red hurts, blue helps: color-blind readers can tell them apart
UNKNOWN = "#e4e4e4"
HATCH = "////"
ABOUT_ZERO = "≈ 0"
KEY = (  # to what `told_apart` tells apart
    f"A number without hatching is detected (false discovery rate 5%, over all cells). {ABOUT_ZERO}: not detected, and "
    f"within ±{MARGIN:g} at 95%. Hatched: not detected, and may be more, or would be small whatever the trick does"
)
LEVELS = 41  # of the key to the colors: few enough that a file with 256 colors has all of them


def tricks_of(effects: pd.DataFrame) -> list[str]:
    """What effects are about: tricks in the order of the ladder, then what is no trick, such as `reward_sign`."""
    about = list(dict.fromkeys(effects.trick))
    return [*(name for name in NEEDS if name in about), *(name for name in about if name not in NEEDS)]


def cell(
    axis: Axes,
    at: tuple[int, int],
    value: float,
    limit: float,
    hatched: bool,
    under: str = "",
    small: bool = False,
) -> None:
    """Fill the cell (column, row) with the value's color, from -limit to limit, and write it, with a line `under` it.

    NaN is gray with a dash. If the limit is NaN, which means that there is no scale, the cell is white. small: write
    that it is about 0 instead of the value.
    """
    column, row = at
    known = np.isfinite(value)
    shade = value / limit if known and np.isfinite(limit) else 0.0
    face: Any = UNKNOWN if not known else COLORS((shade + 1) / 2) if np.isfinite(limit) else "white"
    light = np.power(to_rgb(face), 2.2) @ (0.21, 0.72, 0.07)
    ink = "white" if light < 0.21 else style.INK  # where both inks have the same contrast
    axis.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=face, edgecolor="white", lw=1.5))
    if known and hatched:
        line = np.average([to_rgb(face), to_rgb(ink)], axis=0, weights=(0.65, 0.35))  # fainter than the digits
        inner = Rectangle((column - 0.48, row - 0.47), 0.96, 0.94, facecolor="none", edgecolor=line, lw=0, hatch=HATCH)
        axis.add_patch(inner)
    back = {"facecolor": face, "edgecolor": "none", "boxstyle": "round,pad=0.3"}  # no hatching behind digits
    said: Any = {"ha": "center", "va": "center", "color": ink, "bbox": back}
    text = ABOUT_ZERO if small else number(value, limit, clear=not hatched)
    axis.text(column, row - 0.15 if under else row, text, size=9, **said)
    if under:
        axis.text(column, row + 0.2, under, size=7.5, **said)


def number(value: float, limit: float, clear: bool = False) -> str:
    """The value with its sign and two decimals, three if the limit is small, none if it is large; a dash for NaN.

    clear: the value is clear of 0, so it gets one more decimal if it would round to 0.
    """
    if np.isnan(value):
        return "–"
    places = 3 if limit < 0.1 else 2
    small = style.signed(value, places) if clear else f"{value:+.{places}f}"
    text = small if abs(value) < 10 else f"{value:+.0f}"
    return "0" if float(text) == 0 else text.replace("-", "−")


def bare(axis: Axes, columns: Sequence[str], rows: Sequence[str], aspect: float) -> None:
    """Set up a matrix's axes: its size, the names at its edges, no lines. aspect: a cell's height over its width."""
    axis.set_xlim(-0.5, len(columns) - 0.5)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_box_aspect(aspect * len(rows) / len(columns))
    axis.set_xticks(range(len(columns)), columns, size=8, rotation=35, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(rows)), rows)
    axis.tick_params(length=0, labelcolor=style.INK)
    axis.spines[:].set_visible(False)


def names(labels: Sequence[Text], tricks: Sequence[str]) -> None:
    """Give each trick's name its color."""
    for label, trick in zip(labels, tricks, strict=True):
        label.set(color=style.color(trick), weight="bold")


def furthest(values: Sequence[float]) -> float:
    """The limit of the color scale, which is the largest absolute value; NaN if there is none."""
    known = np.abs([value for value in values if np.isfinite(value)])
    return float(known.max()) or 1.0 if len(known) else np.nan


def caption(figure: Figure, text: str) -> None:
    """Write a text below the matrix, in as many lines as it needs."""
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(h_pad=0.08)  # room between slanted names and the caption  # type: ignore[call-arg]
    figure.supxlabel(fill(text, int(13 * figure.get_figwidth())), size=8.5, color=style.INK)


def colorbar(figure: Figure, axis: Axes, limit: float) -> None:
    """Add the key to the colors to the right of an axis of cells, at the same height."""
    colors = ScalarMappable(Normalize(-limit, limit), COLORS.resampled(LEVELS))
    left, right = axis.get_xlim()
    cell_width = 1 / (right - left)  # of the axis
    bar = figure.colorbar(colors, cax=axis.inset_axes((1 + 0.4 * cell_width, 0, 0.2 * cell_width, 1)))
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, length=2)


def difference_of(env: str) -> str:
    """The quantity that an environment's effects measure, in words."""
    if env in SCALES:
        return "difference in normalized area under the curve"
    return "difference in area under the curve (return)"


def discovered(p: np.ndarray) -> np.ndarray:
    """p-values adjusted for the false discovery rate; NaN stays NaN and is not counted. Benjamini & Hochberg 1995."""
    from scipy.stats import false_discovery_control

    adjusted = np.full(len(p), np.nan)
    known = ~np.isnan(p)
    if known.any():
        adjusted[known] = false_discovery_control(p[known])
    return adjusted


def told_apart(effects: pd.DataFrame) -> pd.DataFrame:
    """The effects with p_fdr, `small`, and `hatched`.

    An effect that is not detected, at a false discovery rate of 5% over all rows, is small if its interval lies within
    ±MARGIN and the arms have room for more, and hatched otherwise. So is an effect that other seeds did not show again.
    """
    p_fdr = discovered(effects.p.to_numpy())
    unsure = ~(p_fdr < LEVEL)
    refuted = effects.get("confirmed", pd.Series(np.nan, effects.index)).eq(0)
    small = unsure & certainly_small(effects) & has_room(effects) & ~refuted
    return effects.assign(p_fdr=p_fdr, small=small, hatched=(unsure | refuted) & ~small)


def gaps(effects: pd.DataFrame) -> list[str]:
    """Comparisons that one design of an environment has and another lacks or has with fewer seeds.

    Designs that have no trick in common ask different questions, so neither lacks the other's tricks.
    """
    found = []
    for env, here in effects.groupby("env", sort=False):
        seeds = dict(zip(zip(here.design, here.trick, strict=True), here.seeds, strict=True))
        asked = {design: set(here.trick[here.design == design]) for design in dict.fromkeys(here.design)}
        for design, own in asked.items():
            alike = set().union(*(other for other in asked.values() if other & own))
            wanted = [trick for trick in dict.fromkeys(here.trick) if trick in alike]
            less = [trick for trick in wanted if seeds.get((design, trick), 0) < max(here.seeds)]
            found += [f"{design} on {env}: {', '.join(less)}"] if less else []
    return found
