"""What the tricks do in several environments: one cell per effect."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ablations.analysis.scales import SCALES
from ablations.design.arms import Design
from ablations.design.story import story_of
from ablations.figures import style
from ablations.figures.cells import (
    KEY,
    bare,
    caption,
    cell,
    colorbar,
    furthest,
    gaps,
    names,
    told_apart,
    tricks_of,
)
from ablations.figures.effect_rows import about_rates
from ablations.figures.panels import title, warning
from ablations.figures.saving import save
from tricks.ladder import LADDER


def heatmap_figure(
    effects: pd.DataFrame, designs: Sequence[Design], path: Path, missing: Sequence[str] = ()
) -> list[Path]:
    """Differences: one row per trick, one panel per design, with a column for each of its environments.

    A cell is hatched if its effect is unknown or was not confirmed, and "≈ 0" if it is practically nothing. Detected:
    at a false discovery rate of 5% over all cells (Benjamini and Hochberg). An environment without a scale
    gets numbers but no color. effects, designs, missing, path: as for `forest_figure`, of any environments.
    """
    style.use()
    effects = told_apart(effects)
    tricks = tricks_of(effects)
    shown = [design for design in designs if design.name in set(effects.design)]
    envs = {design.name: list(dict.fromkeys(effects.env[effects.design == design.name])) for design in shown}
    columns = [len(own) for own in envs.values()]
    size = min(0.8, (style.WIDTH - 2.6) / sum(columns))
    slanted = 0.04 * max(map(len, effects.env))
    shape = (max(5.2, 2.6 + size * sum(columns)), 0.29 * len(tricks) + slanted + 1.8)
    figure, axes = plt.subplots(
        1, len(shown), figsize=shape, sharey=True, squeeze=False, layout="constrained", width_ratios=columns
    )
    scaled = effects[effects.env.isin(list(SCALES))]
    certain = scaled[~scaled.hatched]  # what is unknown may be far off, and would make all else pale
    limit = furthest((certain if len(certain) else scaled).difference.tolist())
    for axis, design in zip(axes[0], shown, strict=True):
        here = effects[effects.design == design.name]
        values = {(row["env"], row["trick"]): row for row in here.to_dict("records")}
        _heatmap(axis, values, envs[design.name], tricks, limit, 0.29 / size)
        letters = max(16, int(13 * size * len(envs[design.name])))  # what fits above the panel
        axis.set_title(f"{fill(design.name, letters)}\n{fill(story_of(design).mark.meaning, letters)}", pad=8)
    names(axes[0, 0].get_yticklabels(), tricks)
    if np.isfinite(limit):
        colorbar(figure, axes[0, -1], limit)
    title(
        figure,
        f"What each trick {'' if set(tricks) & set(LADDER) else 'beyond the ladder '}does in each environment"
        + about_rates(effects)
        + warning("lacks runs of", missing or gaps(effects)),
    )
    seeds = " or ".join(str(count) for count in sorted(set(effects.seeds)))
    gray = len(effects) < len(tricks) * sum(columns)
    unit = "Difference in normalized area under the curve" + (
        "" if set(effects.env) <= set(SCALES) else ", or as named"
    )
    failed = ", or not seen again on other seeds" * bool(effects.confirmed.notna().any())
    words = f"{unit}, with minus without, {seeds} seeds. {KEY}{failed}."
    caption(figure, words + " –: not in the design, or not run." * gray)
    numbers = ["difference", "p", "p_fdr", "small", "hatched", "seeds"]
    return save(figure, path, effects[["design", "env", "trick", "label", *numbers]])


def _heatmap(
    axis: Axes, values: dict[Any, Any], envs: Sequence[str], tricks: Sequence[str], limit: float, aspect: float
) -> None:
    bare(axis, [env if env in SCALES else f"{env} (return)" for env in envs], tricks, aspect)
    for i, env in enumerate(envs):
        for j, trick in enumerate(tricks):
            row = values.get((env, trick), {"difference": np.nan, "hatched": False, "small": False})
            shown = limit if env in SCALES else np.nan
            cell(axis, (i, j), row["difference"], shown, row["hatched"], small=row["small"])
