"""All evidence about one trick at a glance: one row per question, one column per environment or world."""

from collections.abc import Sequence
from textwrap import fill
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablations.figures import style
from ablations.figures.cells import bare, cell, furthest

CELL = (0.86, 0.5)  # inches
AREA, MADE = "in normalized area under the curve", "in worlds made for it"
NAME = 24  # letters in a line of a world's name


class Seen(NamedTuple):
    """An effect, and what it amounts to in a word or two."""

    difference: float
    verdict: str
    clear: bool
    """Whether the verdict says something; cells of others are hatched."""


def strip(usual: dict[tuple[str, str], Seen], worlds: Sequence[tuple[str, Seen]], limit: float | None = None) -> Figure:
    """Draw a trick's effects; where these seeds cannot tell, the cell is white and hatched.

    usual: (question, environment) -> what was seen there, in normalized area under the curve. worlds: the names of the
    worlds made for the trick, each with what was seen there; their colors only say up or down. limit: of the color
    scale (default: the largest effect).
    """
    style.use()
    questions, envs = (list(dict.fromkeys(pair[k] for pair in usual)) for k in (0, 1))
    columns = len(envs) + len(worlds)
    rows = max(1, len(questions))
    made = [fill(name, NAME) for name, _ in worlds]
    slanted = 0.045 * max(len(line) for name in [*envs, *made] for line in name.splitlines())
    heads = [_heading(text, names) for text, names in ((AREA, envs), (MADE, made)) if names]
    above = 0.3 + 0.15 * max(len(head.splitlines()) for head in heads)
    shape = (2.2 + CELL[0] * (columns + 0.4), CELL[1] * rows + slanted + above)
    widths = [n for n in (len(envs), len(worlds)) if n]
    figure, axes = plt.subplots(1, len(widths), figsize=shape, squeeze=False, layout="constrained", width_ratios=widths)
    if envs:
        scale = limit or furthest([seen.difference for seen in usual.values()])
        for (question, env), seen in usual.items():
            _cell(axes[0, 0], (envs.index(env), questions.index(question)), seen, scale)
        _finish(axes[0, 0], envs, questions, heads[0])
    if worlds:
        for k, (_, seen) in enumerate(worlds):
            _cell(axes[0, -1], (k, 0), seen, 1.5 * abs(seen.difference) or 1.0)
        _finish(axes[0, -1], made, [""], heads[-1])
    return figure


def _heading(text: str, columns: Sequence[str]) -> str:
    """The text in lines that are as wide as the columns: one column is narrower than its heading."""
    return fill(text, max(14, 12 * len(columns)))


def _cell(axis: Axes, at: tuple[int, int], seen: Seen, limit: float) -> None:
    cell(axis, at, seen.difference, limit if seen.clear else np.nan, not seen.clear, seen.verdict)


def _finish(axis: Axes, columns: Sequence[str], rows: Sequence[str], heading: str) -> None:
    bare(axis, columns, rows, CELL[1] / CELL[0])
    axis.set_anchor("NW")
    axis.set_title(heading, size=9, weight="normal", color=style.SOFT, loc="left")
