"""Effects as figures: a matrix of cells, hatched where the seeds can't tell, or a row per trick with intervals."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from ablations.analysis.by_rate import AT_BEST, OVER_ALL
from ablations.analysis.effects import NOT_LEARNED, is_small
from ablations.analysis.scales import MARGIN
from ablations.analysis.stats import FEWEST, LEVEL
from ablations.question.arms import Design
from ablations.question.story import by_rank, story_of
from ablations.report import style
from ablations.report.multiples import lacking, title
from ablations.report.style import save
from tricks.ladder import LADDER, NEEDS

COLORS = plt.get_cmap("RdBu")  # red hurts, blue helps: color-blind readers can tell them apart
UNKNOWN = "#e4e4e4"
ABOUT_ZERO = "≈ 0"
KEY = (  # to what `told_apart` tells apart
    f"A number without hatching is detected (false discovery rate 5%, over all cells). {ABOUT_ZERO}: not detected, and "
    f"within ±{MARGIN:g} at 95%. Hatched: not detected, and may be more, or the arms learned too little or too well"
)
SAID = {OVER_ALL: "mean over\nall rates", AT_BEST: "each arm at\nits own best"}


def tricks_of(effects: pd.DataFrame) -> list[str]:
    """What effects are about: tricks in the order of the ladder, then what is no trick, such as `reward_sign`."""
    return sorted(effects.trick.unique(), key=lambda name: [*NEEDS, name].index(name))


def about_rates(effects: pd.DataFrame) -> str:
    """A caveat about the learning rates behind some effects, and where; empty if all were tuned for this setting."""
    some = effects[effects.tuned != ""]
    elsewhere = "env" in effects and some.env.nunique() < effects.env.nunique()
    where = f" on {', '.join(dict.fromkeys(some.env))}" if elsewhere else ""
    return f"; learning rates {', '.join(sorted({*some.tuned}))}{where}" if len(some) else ""


def area_of(effects: pd.DataFrame) -> str:
    return "normalized area under the curve" if effects.scaled.all() else "area under the curve (return)"


def told_apart(effects: pd.DataFrame) -> pd.DataFrame:
    """The effects with p_fdr, adjusted for the false discovery rate over all rows (Benjamini & Hochberg 1995).

    One that is not detected by it at 5% is `small` if its interval lies within ±MARGIN and the arms have room for more,
    and `hatched` otherwise. So is an effect that other seeds did not show again, or of arms that did not learn.
    """
    from scipy.stats import false_discovery_control

    p_fdr = effects.p.to_numpy(copy=True)
    if (known := ~np.isnan(p_fdr)).any():
        p_fdr[known] = false_discovery_control(p_fdr[known])
    unsure, refuted = ~(p_fdr < LEVEL), effects.get("confirmed", pd.Series(np.nan, effects.index)).eq(0)
    refuted |= effects.get("verdict", pd.Series("", effects.index)).eq(NOT_LEARNED)
    small = unsure & is_small(effects) & ~refuted
    return effects.assign(p_fdr=p_fdr, small=small, hatched=(unsure | refuted) & ~small)


def cell_text(value: float, limit: float, clear: bool) -> str:
    """The value with its sign and two decimals, three of a small limit, none if large, one more if `clear` of 0."""
    if np.isnan(value):
        return "–"
    places = 3 if limit < 0.1 else 2
    small = style.signed(value, places) if clear else f"{value:+.{places}f}"
    text = small if abs(value) < 10 else f"{value:+.0f}"
    return "0" if float(text) == 0 else text.replace("-", "−")


def cell(
    axis: Axes, at: tuple[int, int], value: float, limit: float, hatched: bool, text: str = "", under: str = ""
) -> None:
    """Fill the cell (column, row) with the value's color, from -limit to limit, and write it or `text`, and `under` it.

    NaN is gray with a dash. If the limit is NaN, which means that there is no scale, the cell is white.
    """
    column, row = at
    known, shown = np.isfinite(value), text or cell_text(value, limit, clear=not hatched)
    shade = value / limit if known and np.isfinite(limit) else 0.0
    face: Any = UNKNOWN if not known else COLORS((shade + 1) / 2) if np.isfinite(limit) else "white"
    light = np.power(to_rgb(face), 2.2) @ (0.21, 0.72, 0.07)
    ink = "white" if light < 0.21 else style.INK  # where both inks have the same contrast
    axis.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=face, edgecolor="white", lw=1.5))
    if known and hatched:
        line = np.average([to_rgb(face), to_rgb(ink)], axis=0, weights=(0.65, 0.35))  # fainter than the digits
        inner = Rectangle((column - 0.48, row - 0.47), 0.96, 0.94, facecolor="none", edgecolor=line, lw=0, hatch="////")
        axis.add_patch(inner)
    back = {"facecolor": face, "edgecolor": "none", "boxstyle": "round,pad=0.3"}  # no hatching behind digits
    said: Any = {"ha": "center", "va": "center", "color": ink, "bbox": back}
    axis.text(column, row - 0.15 if under else row, shown, size=9, **said)
    if under:
        axis.text(column, row + 0.2, under, size=7.5, **said)


Cells = Mapping[tuple[str, str], Mapping[str, Any]]  # (row, column) -> what `cell` draws there


def matrices(
    panels: Sequence[Cells], rows: Sequence[str], size: tuple[float, float], aspect: float
) -> tuple[Figure, list[Axes]]:
    """Draw matrices of cells side by side, with the same rows. size: in inches. aspect: of a cell: height / width."""
    style.use()
    columns = [list(dict.fromkeys(column for _, column in cells)) for cells in panels]
    look: Any = {"figsize": size, "layout": "constrained", "width_ratios": [*map(len, columns)]}
    figure, axes = plt.subplots(1, len(panels), squeeze=False, **look)
    for k, (axis, cells, names) in enumerate(zip(axes[0], panels, columns, strict=True)):
        axis.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(rows) - 0.5, -0.5))
        axis.set_box_aspect(aspect * len(rows) / len(names))
        axis.set_xticks(range(len(names)), names, size=8, rotation=35, ha="right", rotation_mode="anchor")
        axis.set_yticks(range(len(rows)), rows if k == 0 else [""] * len(rows))
        axis.tick_params(length=0, labelcolor=style.INK)
        axis.spines[:].set_visible(False)
        for (row, column), drawn in cells.items():
            cell(axis, (names.index(column), rows.index(row)), **drawn)
    return figure, [*axes[0]]


def cells_of(effects: pd.DataFrame, tricks: Sequence[str], limit: float) -> Cells:
    """Rows of `told_apart` as cells, tricks by columns `at`; gray where there is no row. limit: of the color scale."""
    limits, texts = np.where(effects.scaled, limit, np.nan), np.where(effects.small, ABOUT_ZERO, "")
    drawn = effects.assign(value=effects.difference, limit=limits, text=texts).set_index(["trick", "at"])
    known: Any = drawn[["value", "limit", "hatched", "text"]].to_dict("index")
    gray = {"value": np.nan, "limit": np.nan, "hatched": False}
    return {(trick, at): known.get((trick, at), gray) for at, trick in product(effects["at"].unique(), tricks)}


def color_names(labels: Sequence[Text], tricks: Sequence[str]) -> None:
    for label, trick in zip(labels, tricks, strict=True):
        label.set(color=style.color(trick), weight="bold")


def finish(figure: Figure, said: str, text: str, axis: Axes, limit: float) -> None:
    """Add the title, a text below the matrix, and the key to the colors to the right of an axis, at the same height."""
    figure.set_layout_engine("constrained", h_pad=0.08)  # room between slanted names and the text
    title(figure, said)
    below = fill(text, int(13 * figure.get_figwidth()))
    figure.supxlabel(below, size=8.5, color=style.INK)
    lines = figure.get_suptitle().count("\n") + below.count("\n")
    figure.set_figheight(figure.get_figheight() + 0.2 * max(0, lines - 2))  # a title and two lines have room already
    if np.isfinite(limit):
        left, right = axis.get_xlim()
        place = axis.inset_axes((1 + 0.4 / (right - left), 0, 0.2 / (right - left), 1))
        colors = COLORS.resampled(41)  # few enough that a file with 256 colors has all of them
        bar = figure.colorbar(ScalarMappable(Normalize(-limit, limit), colors), cax=place)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=8, length=2)


def heatmap_figure(effects: pd.DataFrame, designs: Sequence[Design], path: Path, missing: Sequence[str]) -> list[Path]:
    """Draw differences: a row per trick, a panel per design, a column per environment; see `forest_figure`."""
    effects = told_apart(effects)
    tricks, known = tricks_of(effects), effects.scaled
    seen = effects.assign(at=effects.env.where(known, effects.env + " (return)"))
    shown = {design: rows for design in designs if len(rows := seen[seen.design == design.name])}
    count = sum(rows["at"].nunique() for rows in shown.values())
    size = min(0.8, (style.WIDTH - 2.6) / count)
    certain = effects[known & ~effects.hatched]  # what is unknown may be far off, and would make all else pale
    limit = float((certain if len(certain) else effects[known]).difference.abs().max()) or 1.0
    slanted = 0.04 * max(map(len, effects.env))
    shape = (max(5.2, 2.6 + size * count), 0.29 * len(tricks) + slanted + 1.8)
    figure, axes = matrices([cells_of(rows, tricks, limit) for rows in shown.values()], tricks, shape, 0.29 / size)
    color_names(axes[0].get_yticklabels(), tricks)
    for axis, (design, rows) in zip(axes, shown.items(), strict=True):
        letters = max(16, int(13 * size * rows["at"].nunique()))  # what fits above the panel
        axis.set_title(f"{fill(design.name, letters)}\n{fill(story_of(design).mark.meaning, letters)}", pad=8)
    beyond = "" if {*tricks} & {*LADDER} else "beyond the ladder "
    said = f"What each trick does {beyond}in each environment{about_rates(effects)}{lacking(missing)}"
    seeds = " or ".join(str(count) for count in sorted(set(effects.seeds)))
    named = "Difference in normalized area under the curve" + ", or as named" * (not known.all())
    failed = ", or not seen again on other seeds" * bool(effects.confirmed.notna().any())
    gray = " –: not in the design, or not run." * (len(effects) < len(tricks) * count)
    finish(figure, said, f"{named}, with minus without, {seeds} seeds. {KEY}{failed}.{gray}", axes[-1], limit)
    numbers = ["difference", "p", "p_fdr", "small", "hatched", "seeds"]
    return save(figure, path, effects[["design", "env", "trick", "label", *numbers]])


def rate_map_figure(found: pd.DataFrame, design: Design, common: float | None, path: Path) -> list[Path]:
    """Save `rate_map` and the numbers behind it; nothing without rows, or for a design that compares a trick twice."""
    if found.empty or design.repeats:
        return []
    figure = rate_map(found, design, common)
    return save(figure, path, found.drop(columns=["label", "scaled"]).assign(label=found.label.map(str)))


def rate_map(found: pd.DataFrame, design: Design, common: float | None) -> Figure:
    """Draw the rows of `effects_by_rate` as cells, hatched where unknown. common: the rate whose column is framed."""
    found = told_apart(found)
    env, tricks, limit = found.env.iloc[0], [*found.trick.unique()], float(found.difference.abs().max()) or 1.0
    summed = found["at"].isin([*SAID])
    parts = [rows.assign(scaled=True, at=rows["at"].replace(SAID)) for rows in (found[~summed], found[summed])]
    rates = [*parts[0]["at"].unique()]
    shape = (0.72 * (len(rates) + 2) + 3.2, 0.29 * len(tricks) + 2.1)
    figure, axes = matrices([cells_of(rows, tricks, limit) for rows in parts], tricks, shape, 0.42)
    color_names(axes[0].get_yticklabels(), tricks)
    if common is not None:
        frame = (rates.index(f"{common:g}") - 0.5, -0.5), 1, len(tricks)
        axes[0].add_patch(Rectangle(*frame, facecolor="none", edgecolor=style.INK, lw=1.6))
    axes[0].set_title("both arms at this learning rate", pad=8)
    said = f"What each trick does at each learning rate: {env}, {design.name}, {story_of(design).mark.meaning}"
    first, last = (int(found[found["at"] == at].seeds.iloc[0]) for at in (rates[0], AT_BEST))
    seeds = f"{first} seeds at each rate, {last} at each arm's own best"
    framed = ". Framed: the rate at which all arms do best on average" if common is not None else ""
    text = f"Difference in {area_of(found)}, with minus without; {seeds}. {KEY}{framed}."
    finish(figure, said, text, axes[-1], limit)
    figure.set_label(f"{said}: a heat map of {len(tricks)} tricks by learning rate")
    return figure


CELL = (0.86, 0.5)  # inches
NAME = 24  # letters in a line of a row's or a column's name


def strip(panels: Mapping[str, Cells]) -> Figure:
    """Draw a trick's effects side by side. panels: below each heading, questions (rows) by environments or worlds."""
    shown = {head: cells for head, cells in panels.items() if cells}
    drawn = [{(fill(row, NAME), fill(env, NAME)): own for (row, env), own in cells.items()} for cells in shown.values()]
    rows = list(dict.fromkeys(row for cells in drawn for row, _ in cells))
    widths = [len({column for _, column in cells}) for cells in drawn]
    # one column is narrower than its heading
    heads = [fill(head, max(14, 12 * width)) for head, width in zip(shown, widths, strict=True)]
    slanted = 0.045 * max(len(line) for cells in drawn for _, column in cells for line in column.splitlines())
    above = 0.3 + 0.15 * max(len(head.splitlines()) for head in heads)
    left = 2.2 if any(rows) else 0.3  # for the questions
    size = (left + CELL[0] * (sum(widths) + 0.4), CELL[1] * len(rows) + slanted + above)
    figure, axes = matrices(drawn, rows, size, CELL[1] / CELL[0])
    for axis, head in zip(axes, heads, strict=True):
        axis.set_anchor("NW")
        axis.set_title(head, size=9, weight="normal", color=style.SOFT, loc="left")
    return figure


def forest_figure(effects: pd.DataFrame, designs: Sequence[Design], path: Path, missing: Sequence[str]) -> list[Path]:
    """One environment's effects: a band per trick, a row per comparison with its design's mark, Welch's 95% interval.

    effects: rows of `effects`, of these designs. missing: names of arms that lack runs. path: without suffix.
    """
    style.use()
    tricks, count = tricks_of(effects), effects.trick.value_counts()
    shown = by_rank(design for design in designs if design.name in set(effects.design))
    marks = {design.name: story_of(design).mark for design in shown}
    ordered = effects.sort_values("design", key=lambda name: name.map([*marks].index), kind="stable")
    ordered["row"], ordered["twice"] = ordered.groupby("trick").cumcount(), ordered.duplicated(["trick", "design"])
    most = max(3, int(ordered["row"].max()) + 1)
    figure, axis = plt.subplots(figsize=(10.5, 0.12 * most * len(tricks) + 1.6), layout="constrained")
    for row in ordered.to_dict("records"):
        mark, label = marks[row["design"]], row["label"]
        y = tricks.index(row["trick"]) + 0.81 / most * (row["row"] - (count[row["trick"]] - 1) / 2)
        color, below = style.color(row["trick"]), y + 0.1  # thin, what a second try showed
        face = color if row["detected"] else "white"
        axis.plot([row["low"], row["high"]], [y, y], color=color, lw=1.6, zorder=2)
        axis.plot(row["difference"], y, mark.shape, color=color, mfc=face, mew=1.4, ms=5.5, zorder=3)
        if np.isfinite(row["again"]):
            axis.plot([row["again_low"], row["again_high"]], [below, below], color=color, lw=1, alpha=0.6, zorder=2)
            axis.plot(row["again"], below, "|", color=color, ms=5, mew=1.4, zorder=3)
        if label.others and (label.sign == "−" or row["twice"]):
            said = fill(f"{mark.glyph} {label}", 42, subsequent_indent="     ")
            axis.annotate(said, (1.01, y), xycoords=("axes fraction", "data"), va="center", size=7.5, color=style.SOFT)
    for stripe in range(0, len(tricks), 2):
        axis.axhspan(stripe - 0.5, stripe + 0.5, color="#f5f5f5", lw=0, zorder=0)
    axis.axvline(0, color=style.SOFT, lw=1, zorder=1)
    axis.set_yticks(range(len(tricks)), tricks)
    axis.set(ylim=(len(tricks) - 0.5, -0.5), xlabel=f"difference in {area_of(effects)}, with minus without")
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    color_names(axis.get_yticklabels(), tricks)
    meanings = [(mark.shape, "white", f"{name}: {mark.meaning}") for name, mark in marks.items()]
    meanings += [(meanings[0][0], style.INK, "filled: detected after Holm's correction")]
    meanings += [("|", style.INK, "thin: the same on other seeds")] * bool(effects.again.notna().any())
    look: Any = {"ls": "", "color": style.INK, "mew": 1.4, "ms": 5.5}
    handles = [Line2D([], [], marker=shape, mfc=face, label=said, **look) for shape, face, said in meanings]
    where: Any = {"loc": "lower left", "bbox_to_anchor": (-0.01, 1), "borderaxespad": 0.2}
    axis.legend(handles=handles, ncols=2, frameon=False, fontsize=8, handletextpad=0.2, columnspacing=1.6, **where)
    seeds = effects.seeds.max()
    bars = "95% intervals (Welch's t)" if seeds >= FEWEST else f"no intervals: under {FEWEST} seeds"
    said = f"What each trick does: {effects.env.iloc[0]}, {seeds} seeds, {bars}{about_rates(effects)}"
    title(figure, said + lacking(missing))
    columns = ["design", "trick", "label", "difference", "low", "high", "p", "p_holm", "detected", "verdict", "seeds"]
    return save(figure, path, effects[[*columns, "choosing", "again", "again_low", "again_high", "confirmed"]])
