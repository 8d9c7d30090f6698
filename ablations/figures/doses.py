"""Small multiples of the trials that come in doses: the effect of the trick at each dose."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from ablations.analysis.outcomes import Outcome
from ablations.figures import style
from ablations.figures.panels import DASHED, title
from ablations.figures.saving import save

COLUMNS = 5


def doses_figure(outcomes: Sequence[Outcome], path: Path) -> list[Path]:
    """Draw and save one panel per trial, all on the same scale; nothing if no trial has doses. path: without suffix."""
    dosed = [outcome for outcome in outcomes if outcome.trial.varied]
    if not dosed:
        return []
    style.use()
    columns = min(COLUMNS, len(dosed))
    rows = -(-len(dosed) // columns)
    size = (style.WIDTH / COLUMNS * max(columns, 2), 2.2 * rows + 0.9)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False, sharey=True)
    for axis, outcome in zip(axes.flat, dosed, strict=False):
        draw_effects(axis, outcome)
    for spare in axes.flat[len(dosed) :]:
        spare.axis("off")
    seeds = max(len(outcome.shares) for outcome in dosed)
    title(figure, f"The more of what should make a trick matter, the larger its effect?\n{seeds} seeds, 95% intervals")
    figure.supylabel("with minus without, as a share of the best score", size=9, color=style.INK)
    return save(figure, path)


def draw_effects(axis: Axes, outcome: Outcome) -> None:
    """One trial: its effect at every dose, the last one being the claim."""
    shares, color = outcome.shares, style.color(outcome.trial.trick)
    found = [each.effect for each in outcome.at_every_dose]
    at, means = np.arange(len(found)), [each.mean for each in found]
    reach = np.array([[each.mean - each.low, each.high - each.mean] for each in found]).T
    axis.axhline(0, color=style.SOFT, lw=1, ls=DASHED)
    axis.errorbar(at, means, np.nan_to_num(reach), color=color, marker="o", ms=5, lw=1.8, capsize=3)
    axis.set_xticks(at, [f"{dose:g}" for dose in shares])
    axis.set_xlim(-0.4, len(found) - 0.6)
    axis.set_xlabel(outcome.trial.varied)
    sign = {1: "up", -1: "down", 0: "nothing"}[outcome.trial.predicted]
    axis.set_title(outcome.trial.trick, color=color, pad=14)
    rate = "" if outcome.trial.rate is None else f" at lr={outcome.trial.rate:g}"
    axis.text(0, 1.03, f"predicted {sign}{rate}", transform=axis.transAxes, size=7.5, color=style.SOFT)
    axis.grid(axis="y", color=style.FAINT, lw=0.6)
