"""A run's learning curve, and what its agents score after training."""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from ablations.analysis.stats import AVERAGED
from ablations.analysis.studies import Study, grid
from ablations.figures import style
from ablations.figures.panels import DASHED, thousands, title
from ablations.figures.saving import save
from ablations.findings.game_scores import mean_score


def games_figure(study: Study, path: Path) -> list[Path]:
    """Draw and save the figure, and the curve behind it as CSV; path: without suffix."""
    style.use()
    figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
    draw_games(study, axis)
    title(figure, f"{study.env}: while it is learned, and when that is done")
    behind = grid(study.runs, study.steps).T.rename_axis("step").add_prefix("seed ").reset_index()
    return save(figure, path, behind)


def draw_games(study: Study, axis: Axes) -> None:
    """Draw the mean curve, the trained agents' mean game score next to its end, and the level of random games."""
    returns = grid(study.runs, study.steps).mean()
    axis.plot(returns, color=style.FAINT, lw=1)
    axis.plot(returns.rolling(AVERAGED).mean(), color=style.INK)
    trained, random = (mean_score(study, who) for who in ("trained", "random"))
    said = "gray: training, at each 1% of it; black: mean of the tenth before"
    axis.set_title(said, loc="left", color=style.SOFT, size=9, weight="normal")
    axis.axhline(random.mean, color=style.SOFT, lw=1.4, ls=DASHED)
    reach = [[trained.mean - trained.low], [trained.high - trained.mean]]
    axis.errorbar(1.03 * study.steps, trained.mean, reach, color=style.INK, marker="o", lw=1.5)
    axis.set_xlim(0, 1.05 * study.steps)
    axis.set_ylim(min(0, axis.get_ylim()[0]))
    for found, said, color in ((trained, "trained", style.INK), (random, "random", style.SOFT)):
        place = (1.06 * study.steps, found.mean)
        axis.annotate(said, place, annotation_clip=False, va="center", color=color, weight="bold")
    thousands(axis)
    axis.set(xlabel="environment steps (thousands)", ylabel="score of a whole game")
