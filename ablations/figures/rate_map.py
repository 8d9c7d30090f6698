"""What each trick does at each learning rate: one row per trick, one column per rate, and two more columns."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ablations.analysis.by_rate import AT_BEST, OVER_ALL
from ablations.design.arms import Design
from ablations.design.story import story_of
from ablations.figures import style
from ablations.figures.cells import (
    KEY,
    bare,
    caption,
    cell,
    colorbar,
    difference_of,
    furthest,
    names,
    told_apart,
)
from ablations.figures.panels import title
from ablations.figures.saving import save

SAID = {OVER_ALL: "mean over\nall rates", AT_BEST: "each arm at\nits own best"}


def rate_map_figure(found: pd.DataFrame, design: Design, common: float | None, path: Path) -> list[Path]:
    """Save `rate_map` and the numbers behind it. path: without suffix. Draws nothing if there are no rows."""
    if found.empty:
        return []
    style.use()
    figure = rate_map(found, design, common)
    return save(figure, path, found.drop(columns="label").assign(label=found.label.map(str)))


def rate_map(found: pd.DataFrame, design: Design, common: float | None) -> Figure:
    """Draw the rows of `effects_by_rate` as cells, hatched where the effect is unknown, see `told_apart`.

    common: the rate whose column is framed.
    """
    found = told_apart(found)
    env, columns = found.env.iloc[0], list(dict.fromkeys(found["at"]))
    tricks = list(dict.fromkeys(found.trick))
    figure, axes = plt.subplots(
        1,
        2,
        figsize=(0.72 * len(columns) + 3.2, 0.29 * len(tricks) + 2.1),
        width_ratios=(len(columns) - 2, 2),
        sharey=True,
        layout="constrained",
    )
    limit = furthest(found.difference.tolist())
    for axis, shown in zip(axes, (columns[:-2], columns[-2:]), strict=True):
        bare(axis, [SAID.get(at, at) for at in shown], tricks, 0.42)
        for row in found[found["at"].isin(shown)].to_dict("records"):
            at = (shown.index(row["at"]), tricks.index(row["trick"]))
            cell(axis, at, row["difference"], limit, row["hatched"], small=row["small"])
    if common is not None:
        k = columns.index(f"{common:g}")
        axes[0].add_patch(Rectangle((k - 0.5, -0.5), 1, len(tricks), facecolor="none", edgecolor=style.INK, lw=1.6))
    axes[0].set_title("both arms at this learning rate", pad=8)
    names(axes[0].get_yticklabels(), tricks)
    colorbar(figure, axes[-1], limit)
    title(figure, f"What each trick does at each learning rate: {env}, {design.name}, {story_of(design).mark.meaning}")
    first, last = (int(found[found["at"] == at].seeds.iloc[0]) for at in (columns[0], AT_BEST))
    framed = ". Framed: the rate at which all arms do best on average" if common is not None else ""
    caption(
        figure,
        f"{difference_of(env).capitalize()}, with minus without; {first} seeds at each rate, {last} at each arm's own "
        f"best. {KEY}{framed}.",
    )
    return figure
