"""What the tricks do: a forest plot of one environment, a heat map of several, the interactions of a factorial."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ablations.analysis.effects import LEVEL
from ablations.analysis.scales import SCALES
from ablations.analysis.stats import FEWEST
from ablations.design.designs import DESIGNS
from ablations.figures import style
from ablations.figures.cells import (
    bare,
    caption,
    cell,
    colorbar,
    difference_of,
    discovered,
    furthest,
    gaps,
    names,
    number,
)
from ablations.figures.panels import save, title, warning
from tricks.ladder import LADDER, NEEDS

# from the top of a row to its bottom
MARKS = {"add-one-in": "o", "leave-one-out": "s", "ladder": "D", "beyond": "v", "beyond-normed": "^"}
MEANS = {
    "add-one-in": "alone, on what it needs",
    "leave-one-out": "in the full set",
    "ladder": "on the rung before",
    "beyond": "on PPO, with what it needs",
    "beyond-normed": "on PPO with return_norm",
}


def forest_figure(effects: pd.DataFrame, path: Path, missing: Sequence[str] = ()) -> list[Path]:
    """One environment's effects: a row a trick, a mark a design, with Student's 95% interval, paired by seed.

    effects: rows of `ablations.analysis.effects`, of one or more designs. missing: names of arms that lack runs; by
    default what one design has and another lacks. path: without suffix.
    """
    style.use()
    tricks = [name for name in NEEDS if name in set(effects.trick)]
    figure, axis = plt.subplots(figsize=(10.5, 0.36 * len(tricks) + 1.6), layout="constrained")
    shown = [name for name in MARKS if name in set(effects.design)]
    for effect in effects.to_dict("records"):
        y = tricks.index(effect["trick"]) + 0.27 * (shown.index(effect["design"]) - (len(shown) - 1) / 2)
        _mark(axis, y, effect, MARKS[effect["design"]], bool(effect["detected"]))
        if effect["design"] == "leave-one-out" and style.parts(effect["label"]).others:
            said = fill(f"□ {effect['label']}", 42, subsequent_indent="     ")
            axis.annotate(said, (1.01, y), xycoords=("axes fraction", "data"), va="center", size=7.5, color=style.SOFT)
    _rows(axis, tricks, f"{difference_of(effects.env.iloc[0])}, with minus without")
    _key(axis, shown)
    seeds = effects.seeds.max()
    bars = "95% intervals (Student's t, paired by seed)" if seeds >= FEWEST else f"no intervals: under {FEWEST} seeds"
    said = f"What each trick does: {effects.env.iloc[0]}, {seeds} seeds, {bars}{rates(effects)}"
    title(figure, said + warning("lacks runs of", missing or gaps(effects)))
    columns = ["design", "trick", "label", "difference", "low", "high", "p", "p_holm", "detected", "seeds"]
    return save(figure, path, effects[columns])


def rates(effects: pd.DataFrame) -> str:
    """What is to be said about the learning rates of some effects; nothing if all were tuned for this."""
    said = sorted({*effects.tuned} - {""})
    return f"; learning rates {', '.join(said)}" if said else ""


def _mark(axis: Axes, y: float, row: dict[Any, Any], shape: str, filled: bool) -> None:
    """A difference with its interval, in its trick's color, filled or hollow."""
    color = style.color(row["trick"])
    axis.plot([row["low"], row["high"]], [y, y], color=color, lw=1.6, zorder=2)
    axis.plot(row["difference"], y, shape, color=color, mfc=color if filled else "white", mew=1.4, ms=5.5, zorder=3)


def _rows(axis: Axes, tricks: Sequence[str], label: str) -> None:
    """A row a trick, from the top, every other one shaded; a line at 0."""
    for row in range(0, len(tricks), 2):
        axis.axhspan(row - 0.5, row + 0.5, color="#f5f5f5", lw=0, zorder=0)
    axis.axvline(0, color=style.SOFT, lw=1, zorder=1)
    axis.set_yticks(range(len(tricks)), tricks)
    axis.set_ylim(len(tricks) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.set_xlabel(label)
    names(axis.get_yticklabels())


def _key(axis: Axes, shown: Sequence[str]) -> None:
    look: Any = {"ls": "", "color": style.INK, "mew": 1.4, "ms": 5.5}
    handles = [
        Line2D([], [], marker=MARKS[name], mfc="white", label=f"{name}: {MEANS[name]}", **look) for name in shown
    ]
    handles.append(Line2D([], [], marker=MARKS[shown[0]], label="filled: detected after Holm's correction", **look))
    place: Any = {"loc": "lower left", "bbox_to_anchor": (-0.01, 1), "borderaxespad": 0.2}
    axis.legend(handles=handles, ncols=4, frameon=False, fontsize=8, handletextpad=0.2, columnspacing=1.6, **place)


def heatmap_figure(effects: pd.DataFrame, path: Path, missing: Sequence[str] = ()) -> list[Path]:
    """Differences, a row a trick, a column an environment, a panel a design; hatched where none is detected.

    Detected: at a false discovery rate of 5% over all cells (Benjamini and Hochberg). An environment without a scale
    has numbers, but no color. effects, missing, path: as for `forest_figure`, of any environments.
    """
    style.use()
    effects = effects.assign(p_fdr=discovered(effects.p.to_numpy()))
    effects["hatched"] = ~(effects.p_fdr < LEVEL)
    tricks = [name for name in NEEDS if name in set(effects.trick)]
    designs = [name for name in DESIGNS if name in set(effects.design)]
    envs = list(dict.fromkeys(effects.env))
    size = min(0.8, (style.WIDTH - 2.6) / (len(envs) * len(designs)))
    slanted = 0.04 * max(map(len, envs))
    shape = (max(5.2, 2.6 + size * len(envs) * len(designs)), 0.29 * len(tricks) + slanted + 1.8)
    figure, axes = plt.subplots(1, len(designs), figsize=shape, sharey=True, squeeze=False, layout="constrained")
    limit = furthest(effects[effects.env.isin(list(SCALES))].difference.tolist())
    for axis, design in zip(axes[0], designs, strict=True):
        here = effects[effects.design == design]
        values = {(row["env"], row["trick"]): (row["difference"], row["hatched"]) for row in here.to_dict("records")}
        _heatmap(axis, values, envs, tricks, limit, 0.29 / size)
        axis.set_title(f"{design}\n{MEANS[design]}", pad=8)
    names(axes[0, 0].get_yticklabels())
    if np.isfinite(limit):
        colorbar(figure, list(axes[0]), limit)
    title(
        figure,
        f"What each trick {'' if set(tricks) & set(LADDER) else 'beyond the ladder '}does in each environment"
        + rates(effects)
        + warning("lacks runs of", missing or gaps(effects)),
    )
    seeds = " or ".join(str(count) for count in sorted(set(effects.seeds)))
    unit = "Difference in normalized area under the curve" + ("" if set(envs) <= set(SCALES) else ", or as named")
    words = f"{unit}, with minus without, {seeds} seeds. Hatched: no effect detected (false discovery rate 5%,"
    caption(figure, f"{words} over all cells). –: not in the design, or not run.")
    columns = ["design", "env", "trick", "label", "difference", "p", "p_fdr", "hatched", "seeds"]
    return save(figure, path, effects[columns])


def _heatmap(
    axis: Axes, values: dict[Any, Any], envs: Sequence[str], tricks: Sequence[str], limit: float, aspect: float
) -> None:
    bare(axis, [env if env in SCALES else f"{env} (return)" for env in envs], tricks, aspect)
    for i, env in enumerate(envs):
        for j, trick in enumerate(tricks):
            value, hatched = values.get((env, trick), (np.nan, False))
            cell(axis, (i, j), value, limit if env in SCALES else np.nan, hatched)


def interactions_figure(
    main: pd.DataFrame, pairs: pd.DataFrame, env: str, path: Path, missing: Sequence[str] = ()
) -> list[Path]:
    """Main effects on the diagonal, below it how much more one trick does where the other is on than where it is off.

    Hatched where the 95% interval contains 0, gray where the design cannot tell. Where it can tell of no pair, the main
    effects alone, filled where detected. main: trick, effect, low, high, detected, seeds, tuned. pairs: a, b (later in
    main), interaction, low, high.
    """
    style.use()
    if pairs.interaction.notna().any():
        figure = _matrix(main, pairs, difference_of(env))
        said = f"Effects and interactions: {env}, {main.seeds.max()} seeds{rates(main)}"
    else:
        figure, axis = plt.subplots(figsize=(8, 0.3 * len(main) + 1.4), layout="constrained")
        for i, row in enumerate(main.rename(columns={"effect": "difference"}).to_dict("records")):
            _mark(axis, i, row, "o", bool(row["detected"]))
        _rows(
            axis,
            list(main.trick),
            f"{difference_of(env)}\n95% intervals (Student's t over seeds); filled: detected after Holm's correction",
        )
        said = f"Main effects: {env}, {main.seeds.max()} seeds{rates(main)}\n(this design cannot tell interactions)"
    title(figure, said + warning("lacks runs of", missing))
    first = main[["trick", "effect", "low", "high"]].set_axis(["a", "value", "low", "high"], axis=1).assign(kind="main")
    second = pairs[["a", "b", "interaction", "low", "high"]].rename(columns={"interaction": "value"})
    both = pd.concat([first, second.assign(kind="interaction")])
    return save(figure, path, both[["kind", "a", "b", "value", "low", "high"]])


def _matrix(main: pd.DataFrame, pairs: pd.DataFrame, words: str) -> Figure:
    tricks, tested = list(main.trick), bool(np.isfinite(main.low).any())
    width = min(1.25, (style.WIDTH - 3) / len(tricks))
    height = min(0.7, width)
    shape = (max(5.2, width * len(tricks) + 2), height * len(tricks) + 2.2)
    figure, axis = plt.subplots(figsize=shape, layout="constrained")
    bare(axis, tricks, tricks, height / width)
    names([*axis.get_xticklabels(), *axis.get_yticklabels()])
    limit = furthest([*main.effect, *pairs.interaction])
    cells = [(row["trick"], row["trick"], row["effect"], row) for row in main.to_dict("records")]
    cells += [(row["a"], row["b"], row["interaction"], row) for row in pairs.to_dict("records")]
    for a, b, value, row in cells:
        low, high = row["low"], row["high"]
        under = f"[{number(low, limit)}, {number(high, limit)}]" if np.isfinite(low) else ""
        cell(axis, (tricks.index(a), tricks.index(b)), value, limit, tested and not _clear(low, high), under)
    colorbar(figure, [axis], limit)
    said = "Diagonal: with a trick minus without, averaged. Below: how much more one does where the other is on."
    rest = "[ ]: 95% interval (Student's t over seeds). Hatched: not clear of 0, uncorrected. –: cannot be told."
    if not tested:
        rest = "Too few seeds for intervals. –: cannot be told."
    caption(figure, f"{words.capitalize()}. {said} {rest}")
    return figure


def _clear(low: float, high: float) -> bool:
    """Whether an interval leaves 0 out; one that is not there does not."""
    return low > 0 or high < 0
