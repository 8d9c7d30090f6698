"""Small multiples of the trials: the curves with and without each trick."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt

from ablations.analysis.outcomes import Outcome
from ablations.analysis.stats import FEWEST
from ablations.figures import style
from ablations.figures.curves import curve
from ablations.figures.panels import DASHED, band, thousands, title
from ablations.figures.saving import save

WORLDS = 5  # panels per row, each with its own axes
LONGEST = 30  # characters that fit above a panel


def worlds_figure(outcomes: Sequence[Outcome], words: Sequence[str], rates: str, path: Path) -> list[Path]:
    """Draw and save `path` as PNG and SVG: one panel per trial, with its curves with and without the trick.

    words: for each trial, what was predicted and seen. rates: a phrase about the learning rates.
    """
    style.use()
    columns = min(WORLDS, max(3, len(outcomes)))
    rows = -(-len(outcomes) // columns)
    shape = (style.WIDTH / WORLDS * columns, 2.5 * rows + 0.9)
    figure, axes = plt.subplots(rows, columns, figsize=shape, layout="constrained", squeeze=False)
    for axis, outcome, said in zip(axes.flat, outcomes, words, strict=False):
        trial, steps = outcome.trial, outcome.dose.config.steps
        band(axis, curve(outcome.without.grid(steps)), style.SOFT, DASHED)
        band(axis, curve(outcome.having.grid(steps)), style.color(trial.trick))
        axis.set_title(trial.trick, color=style.color(trial.trick), pad=26)
        size = 7.5 * min(1, LONGEST / max(map(len, said.splitlines())))
        text = axis.text(0, 1.03, said, transform=axis.transAxes, size=size, color=style.SOFT)
        text.set_in_layout(False)  # otherwise the longest would set the width of its column
        thousands(axis)
    for spare in axes.flat[len(outcomes) :]:
        spare.axis("off")
    seeds = max(len(outcome.having.grid(outcome.dose.config.steps)) for outcome in outcomes)
    said = "bands: pointwise 95% bootstrap intervals" if seeds >= FEWEST else "too few for bands"
    title(figure, f"Each trick in a world made for it: with (color), without (gray, dashed)\n{seeds} seeds, {said}")
    figure.supxlabel(f"environment steps (thousands); {rates}", size=9, color=style.INK)
    figure.supylabel("episode return", size=9, color=style.INK)
    return save(figure, path)
