"""What crossed tricks do: their main effects, and how much more one does when another is on."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ablations.figures import style
from ablations.figures.cells import bare, caption, cell, colorbar, difference_of, furthest, names, number
from ablations.figures.effect_rows import about_rates, draw_effect, name_rows
from ablations.figures.panels import title, warning
from ablations.figures.saving import save


def interactions_figure(
    main: pd.DataFrame, pairs: pd.DataFrame, env: str, path: Path, missing: Sequence[str] = ()
) -> list[Path]:
    """Main effects on the diagonal; below it, how much more one trick does with the other on than with it off.

    Hatched where the 95% interval contains 0, gray where the design cannot tell. If it cannot tell for any pair, only
    main effects are drawn, filled if detected. main: trick, effect, low, high, detected, seeds, tuned. pairs: a, b
    (later in main), interaction, low, high.
    """
    style.use()
    if pairs.interaction.notna().any():
        figure = _matrix(main, pairs, difference_of(env))
        said = f"Effects and interactions: {env}, {main.seeds.max()} seeds{about_rates(main)}"
    else:
        figure, axis = plt.subplots(figsize=(8, 0.3 * len(main) + 1.4), layout="constrained")
        for i, row in enumerate(main.rename(columns={"effect": "difference"}).to_dict("records")):
            draw_effect(axis, i, row, "o", bool(row["detected"]))
        name_rows(
            axis,
            list(main.trick),
            f"{difference_of(env)}\n95% intervals (Student's t over seeds); filled: detected after Holm's correction",
        )
        said = (
            f"Main effects: {env}, {main.seeds.max()} seeds{about_rates(main)}\n(this design cannot show interactions)"
        )
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
    names([*axis.get_xticklabels(), *axis.get_yticklabels()], [*tricks, *tricks])
    limit = furthest([*main.effect, *pairs.interaction])
    cells = [(row["trick"], row["trick"], row["effect"], row) for row in main.to_dict("records")]
    cells += [(row["a"], row["b"], row["interaction"], row) for row in pairs.to_dict("records")]
    for a, b, value, row in cells:
        low, high = row["low"], row["high"]
        under = f"[{number(low, limit)}, {number(high, limit)}]" if np.isfinite(low) else ""
        cell(axis, (tricks.index(a), tricks.index(b)), value, limit, tested and not _clear(low, high), under)
    colorbar(figure, axis, limit)
    said = "Diagonal: with a trick minus without, averaged. Below: how much more one does when the other is on."
    rest = "[ ]: 95% interval (Student's t over seeds). Hatched: it contains 0, uncorrected. –: unknown."
    if not tested:
        rest = "Too few seeds for intervals. –: unknown."
    caption(figure, f"{words.capitalize()}. {said} {rest}")
    return figure


def _clear(low: float, high: float) -> bool:
    """Whether an interval excludes 0; a missing interval does not."""
    return low > 0 or high < 0
