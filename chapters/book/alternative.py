"""What a figure shows, in one sentence: its text alternative, for readers who don't see it.

The sentence is made of what the figure says of itself: kinds of charts, labels of axes, titles, and names of lines.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection, QuadMesh
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

KINDS = LINES, POINTS, BARS, AREA, HEAT, CHART, PICTURE, DIAGRAM = (
    *("line chart", "scatter plot", "bar chart", "area chart", "heat map", "chart", "picture", "diagram"),
)
LETTER = re.compile(r"[^\W\d_]")
MANY = 8  # names in a list; of more, the others are counted


class Panel(NamedTuple):
    """What one pair of axes says: what kind of chart it is, what it shows against what, in which case, by name."""

    kind: str
    up: str
    across: str
    title: str
    names: tuple[str, ...]


def describe_figures() -> None:
    """From now on, Jupyter stores with each figure of this notebook what it shows. Elsewhere, this does nothing."""
    if "inline" not in matplotlib.get_backend():
        return
    from IPython import get_ipython

    plt.close(plt.figure())  # the first figure is what registers how figures are drawn
    drawing = get_ipython().display_formatter.formatters["image/png"]
    draw = drawing.lookup_by_type(Figure)

    def drawn(figure: Figure) -> tuple[Any, dict[str, Any]]:
        picture = draw(figure)
        picture, about = picture if isinstance(picture, tuple) else (picture, {})
        return picture, about | {"alt": sentence(figure)}

    drawing.for_type(Figure, drawn)


def sentence(figure: Figure) -> str:
    """What a figure shows, such as `Line chart of return against steps: clip from 20 to 480 and reuse from 20 to 110.`

    A figure with a label says that instead.
    """
    if label := str(figure.get_label()):
        return plain(label)
    shown = [axis for axis in figure.axes if axis.get_visible() and axis.get_label() != "<colorbar>"]
    panels = [panel(axis) for axis in shown if axis.axison or axis.has_data()]
    panels.sort(key=lambda each: KINDS.index(each.kind))
    said = "; ".join(_said([*same]) for _, same in groupby(panels, key=lambda each: each.kind))
    about = plain(figure.get_suptitle())
    said = f"{about}: {said}." if about else f"{said}."
    return said[:1].upper() + said[1:]


def panel(axis: Axes) -> Panel:
    """What one pair of axes says."""
    titles = " ".join(axis.get_title(side) for side in ("left", "center", "right"))
    kind, single = _kind(axis), len(axis.figure.axes) == 1
    up, across, title = map(plain, (axis.get_ylabel(), axis.get_xlabel(), titles))
    return Panel(kind, up, across, title, tuple(_names(axis, kind, single)))


def _kind(axis: Axes) -> str:
    """What kind of chart it is, by what it holds."""
    if axis.images:
        return HEAT if axis.axison else PICTURE
    if any(isinstance(each, QuadMesh) for each in axis.collections):
        return HEAT
    if any(isinstance(each, BarContainer) for each in axis.containers):
        return BARS
    if any(line.get_linestyle() != "None" for line in _drawn(axis)):
        return LINES
    marked = any(str(line.get_marker()) != "None" for line in axis.lines)
    if marked or any(isinstance(each, PathCollection) for each in axis.collections):
        return POINTS
    if any(isinstance(each, PolyCollection) for each in axis.collections):
        return AREA
    return CHART if axis.get_xlabel() or axis.get_ylabel() else DIAGRAM


def _drawn(axis: Axes) -> list[Line2D]:
    """The lines of more than two points: neither single dots nor guides across the axes."""
    return [line for line in axis.lines if len(np.atleast_1d(line.get_xdata())) > 2]


def _names(axis: Axes, kind: str, single: bool) -> list[str]:
    """What is shown in one pair of axes, by name; of lines, where they begin and end, if nothing stands beside them."""
    legend = axis.get_legend()
    others: Iterable[Any] = (*axis.containers, *axis.collections)
    named = {str(line.get_label()): _way([line]) if single else "" for line in axis.lines}
    named |= dict.fromkeys((str(each.get_label()) for each in others), "")
    named |= {each.get_text(): "" for each in (legend.get_texts() if legend else ()) if each.get_text() not in named}
    found = [plain(name) + way for name, way in named.items() if name and not name.startswith("_")]
    inside = [*dict.fromkeys(filter(None, (plain(each.get_text()) for each in axis.texts)))]
    if kind == LINES and single and not found:
        drawn = _drawn(axis)
        said = f"{len(drawn)} lines{_way(drawn)}" if len(drawn) > 1 else _way(drawn).strip()
        return [f"{said} ({listed(inside)})" if any(map(LETTER.search, inside)) else said]
    rows = [] if kind in (LINES, PICTURE) else [plain(each.get_text()) for each in axis.get_yticklabels()]
    return found + ([*filter(LETTER.search, rows)] or (inside if kind in (CHART, DIAGRAM, PICTURE) else []))


def _way(lines: Sequence[Line2D]) -> str:
    """Where lines begin and end: ` from 20 to 480`, or of several ` from 20 to between 110 and 480`."""
    every = [np.atleast_1d(np.asarray(line.get_ydata(), float)) for line in lines]
    known = [heights[np.isfinite(heights)] for heights in every]
    first, last = ([f"{x:.3g}" for x in sorted(heights[k] for heights in known if len(heights))] for k in (0, -1))
    if not first:
        return ""
    begin, end = (each[0] if each[0] == each[-1] else f"between {each[0]} and {each[-1]}" for each in (first, last))
    if begin == end:
        return f" {end}" if len(set(last)) > 1 else f" at {end}"
    return f" from {begin} to {end}"


def _said(panels: Sequence[Panel]) -> str:
    """What panels of one kind show."""
    up, across, titles = ([*dict.fromkeys(filter(None, each))] for each in list(zip(*panels, strict=True))[1:4])
    if panels[0].kind == LINES and not up:
        up, titles = titles, []  # a panel without a label has what it shows as its title
    said = panels[0].kind if len(panels) == 1 else f"{len(panels)} {panels[0].kind}s"
    said += f" of {' against '.join(listed(each) for each in (up, across) if each)}" if up or across else ""
    said += f", for {listed(titles)}" if titles else ""
    names = [*dict.fromkeys(name for each in panels for name in each.names)]
    return said + (f": {listed(names)}" if names else "")


def listed(names: Sequence[str]) -> str:
    """`a, b, and c`; of more than MANY, the rest are counted."""
    shown = [*names] if len(names) <= MANY else [*names[: MANY - 1], f"{len(names) - MANY + 1} more"]
    comma = ";" if any("," in name for name in shown) else ","
    return shown[0] if len(shown) == 1 else f"{f'{comma} '.join(shown[:-1])}{comma * (len(shown) > 2)} and {shown[-1]}"


def plain(text: str) -> str:
    """A text on one line, with mathematics as words: `$\\lambda$` becomes lambda."""
    text = re.sub(r"\\(?:(?:math(?:rm|bf|default)|text|left|right|big|Big)\b|,)", "", text)
    text = re.sub(r"\\(hat|bar|sqrt|t?frac)\b", r"\1 ", text)
    return " ".join(re.sub(r"[${}\\]", "", text).split())
