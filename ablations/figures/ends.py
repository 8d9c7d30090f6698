"""Names at the right ends of lines, in place of a legend."""

from collections.abc import Sequence
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes

WIDEST = 28  # letters of a line's name in one row


def label_lines(axis: Axes, size: float = 9) -> None:
    """Write each labeled line's name at its right end, in its color, and move names apart if they would overlap."""
    lines = [line for line in axis.lines if not str(line.get_label()).startswith("_")]
    ends = [_end(axis, np.asarray(line.get_ydata(), float)) for line in lines]
    height = axis.get_window_extent().height / axis.figure.dpi * 72  # points
    names = [fill(str(line.get_label()), WIDEST) for line in lines]
    rows = max((name.count("\n") + 1 for name in names), default=1)
    places = spread(ends, gap=1.5 * rows * size / height)
    for line, name, place in zip(lines, names, places, strict=True):
        text = axis.text(1.02, place, name, transform=axis.transAxes, va="center", size=size)
        text.set(color=line.get_color(), weight="bold")


def _end(axis: Axes, y: np.ndarray) -> float:
    """The height at which a line ends, as a share of the axis; of a line that ends outside, the nearest edge."""
    known = y[np.isfinite(y)]
    last = known[-1] if len(known) else 0.0
    ends = axis.transAxes.inverted().transform(axis.transData.transform((axis.get_xlim()[1], last)))
    return float(np.clip(ends[1], 0, 1))


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Push places apart until they are at least `gap` apart, in the same order."""
    order = np.argsort(places, kind="stable")
    moved = np.array(places, float)[order]
    for _ in range(100):
        overlap = np.maximum(gap - np.diff(moved), 0)
        if not overlap.any():
            break
        moved[:-1] -= overlap / 2
        moved[1:] += overlap / 2
    found = np.empty(len(places))
    found[order] = moved
    return found.tolist()
