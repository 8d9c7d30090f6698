"""Scores of whole games by the agents of a saved run, next to random actions, as an earlier command stored them."""

from pathlib import Path
from typing import Literal

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from ablations.analysis.records import Study, grid
from ablations.analysis.stats import AVERAGED, FEWEST, Estimate, paired
from ablations.report import style
from ablations.report.markup import image, plain
from ablations.report.multiples import DASHED, thousands, title
from ablations.report.sentences import spoken

LONG = 10_000_000  # environment steps of the published Atari scores


def mean_score(study: Study, who: Literal["trained", "random"]) -> Estimate:
    """The mean score of whole games, with Student's 95% interval over agents, or all games of fewer than FEWEST."""
    scores = np.array(study.about["games"][who])  # [S, games]
    return paired(scores.mean(1) if len(scores) >= FEWEST else scores.ravel())


def draw_games(study: Study, axis: Axes) -> None:
    """Draw the mean curve, the trained agents' mean game score next to its end, and the level of random games."""
    returns = grid(study.runs, study.steps).mean()
    axis.plot(returns, color=style.FAINT, lw=1)
    axis.plot(returns.rolling(AVERAGED).mean(), color=style.INK)
    trained, random = mean_score(study, "trained"), mean_score(study, "random")
    said = "gray: training, at each 1% of it; black: mean of the last ten such points"
    axis.set_title(said, loc="left", color=style.SOFT, size=9, weight="normal")
    axis.axhline(random.mean, color=style.SOFT, lw=1.4, ls=DASHED)
    reach = [[trained.mean - trained.low], [trained.high - trained.mean]]
    axis.errorbar(1.03 * study.steps, trained.mean, reach, color=style.INK, marker="o", lw=1.5)
    axis.set(xlim=(0, 1.05 * study.steps), ylim=min(0, axis.get_ylim()[0]))
    for found, said, color in ((trained, "trained", style.INK), (random, "random", style.SOFT)):
        place = (1.06 * study.steps, found.mean)
        axis.annotate(said, place, annotation_clip=False, va="center", color=color, weight="bold")
    thousands(axis)
    axis.set(xlabel="environment steps (thousands)", ylabel="score of a whole game")


def section(study: Study, folder: Path) -> tuple[str, list[Path]]:
    """The section of a report on a study of games, and the files of its figure: the curve behind it is a CSV."""
    style.use()
    figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
    draw_games(study, axis)
    title(figure, f"{study.env}: while it is learned, and when that is done")
    behind = grid(study.runs, study.steps).T.rename_axis("step").add_prefix("seed ").reset_index()
    paths, name = style.save(figure, folder / study.name, behind), study.about["run"]
    shown = image(paths, f"{name}: the score during training, and of whole games after it")
    flags = f"Flags: {plain(study.runs.tricks.iloc[0].replace(' ', ', ')) or 'none'}."
    likely = ", most likely actions" if study.about["greedy"] else ""
    return f"## {plain(study.env)}: {plain(name)}{likely}\n\n{shown}\n\n{games_in_words(study)} {flags}", paths


def games_in_words(study: Study) -> str:
    """The scores of the games and the time of training; of an Atari game, also the time that published scores take."""
    about, seeds = study.about, sorted(study.runs.seed)
    many = f"{len(seeds)} agents (seeds {seeds[0]} to {seeds[-1]})"
    agents = many if len(seeds) > 1 else f"one agent (seed {seeds[0]})"
    means = mean_score(study, "trained"), mean_score(study, "random")
    trained, random = (f"{found.mean:.1f} [{found.low:.1f}, {found.high:.1f}]" for found in means)
    likely = " with the most likely actions" if about["greedy"] else ""
    count, over = len(about["games"]["trained"][0]), "agents" if len(seeds) >= FEWEST else "games"
    said = (
        f"On {plain(study.env)}, {agents} after {study.steps:,} steps: mean score {trained}{likely}, against {random} "
        f"with random actions ({count} whole games each; 95% intervals over {over})."
    )
    late = study.runs.late.mean(skipna=False)
    said += f" In the last tenth of training it was {late:.1f}." * bool(np.isfinite(late))
    if not about["seconds"] > 0:
        return said
    rate = about["steps"] / about["seconds"]
    said += f" Training took {spoken(about['seconds'])}, {rate:,.0f} steps a second"
    if study.env.startswith("ALE/"):
        said += f"; at that rate {LONG // 10**6} million would take {spoken(LONG / rate)}"
    return f"{said}."
