"""`python -m ablations games RUN`: one agent of a saved run, its learning curve, and its games beside random ones.

For what takes too long to be trained over many seeds, such as Atari. One run shows that it learns and how fast it
went; how much of that is luck takes more.
"""

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
import tyro
from matplotlib.axes import Axes

from ablations import style
from ablations.plan import made
from ablations.plot_panels import DASHED, save, thousands, title
from ablations.runs import Study, gather, grid
from ablations.runs import save as save_runs
from ablations.stats import FEWEST, paired
from ablations.store import Job, Result, provenance
from tricks.core.errors import InputError
from tricks.core.files import make_folder
from tricks.core.policies import Categorical
from tricks.core.run import Run, load
from tricks.play import one_seed

LONG = 10_000_000  # environment steps of the published Atari scores
AVERAGED = 10  # points of the grid: a tenth of the budget


@dataclass(frozen=True)
class Options:
    """Which agent, and where the results go."""

    run: tyro.conf.Positional[Path | None] = None
    """Folder of a saved run."""
    seed: int | None = None
    """Whose agent: one of the run's seeds. Default: the first."""
    games: int = 30
    """How many whole games it plays now that it is trained; as many are played at random."""
    out: Path = Path("runs/ablations")
    """Folder for the results and the figure."""


def main(chosen: Options, about: dict[str, Any]) -> int:
    """Play, then print and save what came of it; the exit status."""
    if chosen.run is None:
        raise InputError("games takes the folder of a saved run, for example: python -m ablations games runs/x")
    if chosen.games < FEWEST:
        raise InputError(f"--games must be at least {FEWEST}, or there is no interval, not {chosen.games}")
    make_folder(chosen.out)
    study, path = save_runs(played(one_seed(load(chosen.run), chosen.seed), chosen.games, about), chosen.out)
    text, paths = write(study, chosen.out)
    print(f"{text}\n\nwrote {', '.join(str(path) for path in [path, *paths])}")
    return 0


def played(run: Run, games: int, about: dict[str, Any]) -> Study:
    """The run of one seed as a study without designs, with the scores of its games and of random ones."""
    config, curve = run.config, run.curve
    spent = {"seconds": run.seconds, "steps": int(curve.step.max())}
    done = [(Job(config, run.tricks), "fixed", Result(curve, {"diverged": run.diverged} | spent | provenance()))]
    scores = {"trained": run.evaluate(games)[0].tolist(), "random": at_random(run).evaluate(games)[0].tolist()}
    (seed,) = config.seed_list
    about = about | made(done) | {"seeds": [seed, seed + 1], "games": scores}
    name = f"games_{config.env.replace('/', '_')}_{config.steps}steps"
    return Study(name, (), gather(done, [seed]), about)


def at_random(run: Run) -> Run:
    """The same run with an agent that draws every legal action with the same probability.

    Raises InputError for Box actions, of which no draw is the usual one.
    """
    if run.agent.spaces.family is not Categorical:
        raise InputError(f"{run.config.env} has Box actions, and there is no usual way to draw those at random")
    agent = copy.deepcopy(run.agent)
    with torch.no_grad():
        for parameter in agent.policy_net.head.parameters():
            parameter.zero_()
    return replace(run, agent=agent)


def in_words(study: Study) -> str:
    """What the games and the clock say."""
    about = study.about
    trained, random = (_mean(about["games"][who]) for who in ("trained", "random"))
    rate = about["steps"] / about["seconds"]
    return (
        f"On {study.env}, one agent (seed {study.runs.seed.iloc[0]}) after {study.steps:,} steps: {trained} points a "
        f"game, against {random} at random (means of {len(about['games']['trained'])} whole games each, with 95% "
        f"intervals over games). Training took {about['seconds'] / 60:.0f} minutes, {rate:.0f} steps a second; at that "
        f"rate {LONG // 10**6} million would take {LONG / rate / 3600:.0f} hours."
    )


def _mean(scores: list[float]) -> str:
    found = paired(np.array(scores))  # one sample, Student's t
    return f"{found.mean:.1f} [{found.low:.1f}, {found.high:.1f}]"


def write(study: Study, folder: Path) -> tuple[str, list[Path]]:
    """What it says in words, and the figure in the folder."""
    style.use()
    figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
    draw(study, axis)
    title(figure, f"{study.env}: one agent while it learns, and when it is done")
    behind = grid(study.runs, study.steps).T.rename_axis("step").add_prefix("seed ").reset_index()
    return in_words(study), save(figure, folder / study.name, behind)


def draw(study: Study, axis: Axes) -> None:
    """The curve; beside its end the mean of the trained agent's games, and the level of random ones."""
    (returns,) = grid(study.runs, study.steps).to_numpy()
    steps, color = np.linspace(study.steps / len(returns), study.steps, len(returns)), style.INK
    smooth = np.convolve(returns, np.ones(AVERAGED) / AVERAGED, "valid")
    axis.plot(steps, returns, color=style.FAINT, lw=1)
    axis.plot(steps[AVERAGED - 1 :], smooth, color=color)
    end, random = (paired(np.array(study.about["games"][who])) for who in ("trained", "random"))
    axis.axhline(random.mean, color=style.SOFT, lw=1.4, ls=DASHED)
    axis.errorbar(
        1.03 * study.steps, end.mean, [[end.mean - end.low], [end.high - end.mean]], color=color, marker="o", lw=1.5
    )
    axis.set_xlim(0, 1.05 * study.steps)
    axis.set_ylim(min(0, axis.get_ylim()[0]))
    for height, said, shade in ((end.mean, "trained", color), (random.mean, "random", style.SOFT)):
        place = (1.06 * study.steps, height)
        axis.annotate(said, place, annotation_clip=False, va="center", color=shade, weight="bold")
    thousands(axis)
    axis.set(xlabel="environment steps (thousands)", ylabel="score of a whole game")
