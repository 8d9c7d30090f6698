"""What the tricks do in one environment: one row per trick, one mark per design."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ablations.analysis.stats import FEWEST
from ablations.design.arms import Design
from ablations.design.story import by_rank, story_of
from ablations.figures import style
from ablations.figures.cells import difference_of, gaps, tricks_of
from ablations.figures.effect_rows import about_rates, draw_again, draw_effect, name_rows
from ablations.figures.panels import title, warning
from ablations.figures.saving import save


def forest_figure(
    effects: pd.DataFrame, designs: Sequence[Design], path: Path, missing: Sequence[str] = ()
) -> list[Path]:
    """One environment's effects: one row per trick, one mark per design, Welch's 95% interval.

    effects: rows of `ablations.analysis.effects`, of one or more of the designs. missing: names of arms that lack
    runs; by default, comparisons that one design has and another lacks. path: without suffix.
    """
    style.use()
    tricks = tricks_of(effects)
    figure, axis = plt.subplots(figsize=(10.5, 0.36 * len(tricks) + 1.6), layout="constrained")
    shown = by_rank(design for design in designs if design.name in set(effects.design))
    marks = [story_of(design).mark for design in shown]
    places = {design.name: place for place, design in enumerate(shown)}
    for effect in effects.to_dict("records"):
        place, label = places[effect["design"]], effect["label"]
        y = tricks.index(effect["trick"]) + 0.27 * (place - (len(shown) - 1) / 2)
        draw_effect(axis, y, effect, marks[place].shape, bool(effect["detected"]))
        draw_again(axis, y, effect)
        if label.sign == "−" and label.others:
            said = fill(f"{marks[place].glyph} {label}", 42, subsequent_indent="     ")
            axis.annotate(said, (1.01, y), xycoords=("axes fraction", "data"), va="center", size=7.5, color=style.SOFT)
    name_rows(axis, tricks, f"{difference_of(effects.env.iloc[0])}, with minus without")
    _key(axis, shown, bool(effects.again.notna().any()))
    seeds = effects.seeds.max()
    bars = "95% intervals (Welch's t)" if seeds >= FEWEST else f"no intervals: under {FEWEST} seeds"
    said = f"What each trick does: {effects.env.iloc[0]}, {seeds} seeds, {bars}{about_rates(effects)}"
    title(figure, said + warning("lacks runs of", missing or gaps(effects)))
    columns = ["design", "trick", "label", "difference", "low", "high", "p", "p_holm", "detected", "verdict", "seeds"]
    columns += ["choosing", "again", "again_low", "again_high", "confirmed"]
    return save(figure, path, effects[columns])


def _key(axis: Axes, shown: Sequence[Design], tried_again: bool) -> None:
    marks = [story_of(design).mark for design in shown]
    look: Any = {"ls": "", "color": style.INK, "mew": 1.4, "ms": 5.5}
    handles = [
        Line2D([], [], marker=mark.shape, mfc="white", label=f"{design.name}: {mark.meaning}", **look)
        for design, mark in zip(shown, marks, strict=True)
    ]
    handles.append(Line2D([], [], marker=marks[0].shape, label="filled: detected after Holm's correction", **look))
    if tried_again:
        handles.append(Line2D([], [], marker="|", label="thin: the same on other seeds", **look))
    place: Any = {"loc": "lower left", "bbox_to_anchor": (-0.01, 1), "borderaxespad": 0.2}
    axis.legend(handles=handles, ncols=4, frameon=False, fontsize=8, handletextpad=0.2, columnspacing=1.6, **place)
