"""Building blocks of figures: small multiples, their key, the title that names what is missing.

Small multiples have one panel per arm: its own line is bold, the line of the arm it is compared to is dashed, and all
others are gray.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import fill, wrap
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ablations.design.arms import Design
from ablations.design.labels import Label
from ablations.figures import style
from tricks.ladder import Tricks

COLUMNS = 6
DASHED: Any = (0, (3, 1.5))
LETTERS = 29  # characters of small print that fit above a panel
LINE = 10  # height of a line of small print, in points


class Line(NamedTuple):
    """A value for each x, and the ends of its band, NaN where there is none."""

    x: np.ndarray
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Panel:
    """An arm's label and line, the line of the arm it is compared to, and the small print above the panel."""

    label: Label
    line: Line
    before: Line | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Words:
    """The text around the panels: the title, the axes, the three kinds of lines, and the meaning of the band."""

    title: str
    x: str
    y: str
    lines: tuple[str, str, str]
    band: str


def multiples(shown: Sequence[Panel], words: Words, scale: Callable[[Axes], None]) -> Figure:
    """Draw one panel per arm, all on the same scales, and the key. scale: sets the units of a panel's axes."""
    style.use()
    columns = min(COLUMNS, max(4, len(shown) + 1))
    rows = -(-len(shown) // columns)
    strip = len(shown) == rows * columns  # no panel is left for the key, so it becomes a strip above all of them
    notes = [[line for note in panel.notes for line in wrap(note, LETTERS * COLUMNS // columns)] for panel in shown]
    deepest = [max(map(len, notes[i * columns : (i + 1) * columns]), default=0) for i in range(rows)]
    height = rows * 1.9 + sum(deepest) * LINE / 72 + 0.6 + 0.2 * (1 + wrapped(words.title, style.WIDTH).count("\n"))
    figure = plt.figure(figsize=(style.WIDTH, height + 0.45 * strip), layout="constrained")
    cells = figure.add_gridspec(rows + strip, columns, height_ratios=[0.22] * strip + [1] * rows)
    axes = [figure.add_subplot(cells[strip + row, column]) for row in range(rows) for column in range(columns)]
    if strip:
        axes.append(figure.add_subplot(cells[0, :]))
    others = [np.column_stack([panel.line.x, panel.line.y]) for panel in shown]
    for i, (axis, panel) in enumerate(zip(axes, shown, strict=False)):
        axis.add_collection(LineCollection(others, color=style.FAINT, lw=0.8, zorder=0.5))
        if panel.before is not None:
            axis.plot(panel.before.x, panel.before.y, color=style.SOFT, lw=1.4, ls=DASHED, zorder=0.8)
        band(axis, panel.line, style.color(panel.label))
        _heading(axis, panel.label, notes[i], deepest[i // columns])
    for spare in axes[len(shown) :]:
        spare.axis("off")
    _same_scales(axes[: len(shown)], columns, scale)
    _key(axes[len(shown)], words, strip)
    figure.supxlabel(words.x, size=10, color=style.INK)
    figure.supylabel(words.y, size=10, color=style.INK)
    title(figure, words.title)
    return figure


def _same_scales(axes: Sequence[Axes], columns: int, scale: Callable[[Axes], None]) -> None:
    """Do what shared axes would do, but faster. The lowest and the leftmost panels carry the labels."""
    for i, axis in enumerate(axes):
        scale(axis)
        axis.tick_params(labelbottom=i + columns >= len(axes), labelleft=i % columns == 0)
    for which in ("x", "y"):
        limits = [getattr(axis, f"get_{which}lim")() for axis in axes]
        for axis in axes:
            getattr(axis, f"set_{which}lim")(min(low for low, _ in limits), max(high for _, high in limits))


def panels(design: Design, lines: dict[Tricks, Line], notes: dict[Tricks, str]) -> list[Panel]:
    """A panel for the first arm, and one for each arm that is compared to another; mere references get none."""
    before = {pair.focus: pair.reference for pair in design.comparisons}
    return [
        Panel(
            arm.label,
            lines[arm.tricks],
            lines.get(before[arm.tricks]) if arm.tricks in before else None,
            tuple(note for note in (arm.label.small_print, notes.get(arm.tricks, "")) if note),
        )
        for arm in design.arms
        if arm.tricks in lines and (arm.tricks in before or arm is design.arms[0])
    ]


def behind(design: Design, lines: dict[Tricks, Line], x: str, y: str) -> pd.DataFrame:
    """The lines as a table: one row per arm and point."""
    columns = (x, y, "low", "high")
    frames = [
        pd.DataFrame({"arm": arm.name} | dict(zip(columns, lines[arm.tricks], strict=True)))
        for arm in design.arms
        if arm.tricks in lines
    ]
    return pd.concat(frames)


def band(axis: Axes, line: Line, color: str, dash: Any = "-") -> None:
    """Draw a line with its band."""
    axis.fill_between(line.x, line.low, line.high, color=color, alpha=0.22, lw=0)
    axis.plot(line.x, line.y, color=color, ls=dash)


def _heading(axis: Axes, label: Label, note: list[str], lines: int) -> None:
    """Write the arm's name above its small print. lines: as many as any panel in the row has, to align the names."""
    pad = 5 + (LINE * lines + 2 if lines else 0)
    axis.set_title(label.heading, color=style.color(label), pad=pad)
    text = axis.annotate("\n".join(note), (0, 1), (0, pad - 4), "axes fraction", "offset points", va="top", size=7.5)
    text.set_color(style.SOFT)
    text.set_in_layout(False)  # otherwise the longest would set the width of its column


def _key(axis: Axes, words: Words, strip: bool) -> None:
    """What the lines and the band mean: from top to bottom in a panel, or from left to right in a strip."""
    looks = [(style.INK, 2.0, "-"), (style.SOFT, 1.4, DASHED), (style.FAINT, 0.8, "-")]
    long, gap = (0.02, 0.01) if strip else (0.12, 0.05)
    for i, ((color, width, dash), text) in enumerate(zip(looks, words.lines, strict=True)):
        x, y = (0.24 * i, 0.5) if strip else (0.02, 0.92 - 0.17 * i)
        axis.plot([x, x + long], [y, y], color=color, lw=width, ls=dash, transform=axis.transAxes)
        axis.text(x + long + gap, y, text, va="center", transform=axis.transAxes, color=style.INK, size=8.5)
    small: dict[str, Any] = {"transform": axis.transAxes, "color": style.INK, "size": 8, "linespacing": 1.3}
    axis.text(*((0.72, 0.5) if strip else (0.02, 0.42)), words.band, va="center" if strip else "top", **small)


def title(figure: Figure, text: str) -> None:
    """Write the figure's title at its left edge."""
    text = wrapped(text, figure.get_figwidth())
    figure.suptitle(text, size=12, weight="bold", x=0.01, ha="left", color=style.INK)


def wrapped(text: str, width: float) -> str:
    """Wrap a title to the width of a figure, in inches."""
    return "\n".join(fill(line, int(9.2 * width)) for line in text.splitlines())


def warning(what: str, names: Sequence[str]) -> str:
    """A line for the title that names what is missing; empty if nothing is."""
    return f"\nINCOMPLETE: {what} {'; '.join(names)}" if names else ""


def thousands(axis: Axes) -> None:
    """Label steps in thousands, with few ticks."""
    axis.xaxis.set_major_formatter(FuncFormatter(lambda step, _: f"{step / 1000:g}"))
    axis.xaxis.set_major_locator(MaxNLocator(3))
