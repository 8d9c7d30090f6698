"""All evidence about one trick at a glance: one row per question, one column per environment or world."""

from collections.abc import Sequence
from textwrap import fill
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablations.figures import style
from ablations.figures.cells import ABOUT_ZERO, bare, cell

CELL = (0.86, 0.5)  # inches
NAME = 24  # letters in a line of a row's or a column's name


class Seen(NamedTuple):
    """An effect, and what it amounts to in a word or two."""

    difference: float
    verdict: str
    clear: bool
    """Whether the verdict says something; cells of others are hatched."""


class Panel(NamedTuple):
    """Effects that are drawn side by side."""

    heading: str
    cells: dict[tuple[str, str], Seen]
    """(question, environment or world) -> what was seen there. A question, which may be empty, has one row."""
    limit: float | None
    """Of the color scale; None if the effects have no unit in common, so that colors only say up or down."""


def strip(panels: Sequence[Panel]) -> Figure:
    """Draw a trick's effects, panel by panel; where these seeds cannot tell, the cell is white and hatched."""
    style.use()
    panels = [panel for panel in panels if panel.cells]
    columns = [list(dict.fromkeys(env for _, env in panel.cells)) for panel in panels]
    rows = list(dict.fromkeys(question for panel in panels for question, _ in panel.cells))
    widths = [len(names) for names in columns]
    made = [[fill(name, NAME) for name in names] for names in columns]
    slanted = 0.045 * max(len(line) for names in made for name in names for line in name.splitlines())
    heads = [_heading(panel.heading, width) for panel, width in zip(panels, widths, strict=True)]
    above = 0.3 + 0.15 * max(len(head.splitlines()) for head in heads)
    left = 2.2 if any(rows) else 0.3  # for the questions
    size = (left + CELL[0] * (sum(widths) + 0.4), CELL[1] * len(rows) + slanted + above)
    figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, layout="constrained", width_ratios=widths)
    for k, (axis, panel) in enumerate(zip(axes[0], panels, strict=True)):
        for (question, env), seen in panel.cells.items():
            furthest = (100 if seen.verdict == ABOUT_ZERO else 1.5) * abs(seen.difference)
            limit = panel.limit or furthest or 1.0
            _cell(axis, (columns[k].index(env), rows.index(question)), seen, limit)
        bare(axis, made[k], [""] * len(rows) if k else [fill(each, NAME) for each in rows], CELL[1] / CELL[0])
        axis.set_anchor("NW")
        axis.set_title(heads[k], size=9, weight="normal", color=style.SOFT, loc="left")
    return figure


def _heading(text: str, columns: int) -> str:
    """The text in lines that are as wide as the columns: one column is narrower than its heading."""
    return fill(text, max(14, 12 * columns))


def _cell(axis: Axes, at: tuple[int, int], seen: Seen, limit: float) -> None:
    cell(axis, at, seen.difference, limit if seen.clear else np.nan, not seen.clear, seen.verdict)
