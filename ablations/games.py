"""`python -m ablations games RUN`: what the agents of a saved run score in whole games, beside random actions.

For scores that are measured after the training, and for what takes too long to be trained over many seeds, such as
Atari: one agent shows that it learns and how fast it went; how much of that is luck takes more.
"""

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

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
from ablations.stats import AVERAGED, FEWEST, Paired, paired
from ablations.store import Job, Result, provenance
from ablations.words import spoken
from tricks.core.errors import InputError
from tricks.core.files import make_folder
from tricks.core.policies import Categorical
from tricks.core.run import Run, load
from tricks.play import one_seed

LONG = 10_000_000  # environment steps of the published Atari scores


@dataclass(frozen=True)
class Options:
    """Which agents, how they play, and where the results go."""

    run: tyro.conf.Positional[Path | None] = None
    """Folder of a saved run."""
    seed: int | None = None
    """Only the agent of this seed."""
    games: int = 30
    """How many whole games each agent plays now that it is trained; as many are played at random."""
    greedy: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """The agents take their most likely actions instead of sampling."""
    out: Path = Path("runs/ablations")
    """Folder for the results and the figure."""


def main(chosen: Options, about: dict[str, Any]) -> int:
    """Play, then print and save what came of it; the exit status."""
    if chosen.run is None:
        raise InputError("games takes the folder of a saved run, for example: python -m ablations games runs/x")
    if chosen.games < FEWEST:
        raise InputError(f"--games must be at least {FEWEST}, or there is no interval, not {chosen.games}")
    run = load(chosen.run)
    make_folder(chosen.out)
    study, path = save_runs(played(run, chosen, about | {"run": chosen.run.resolve().name}), chosen.out)
    text, paths = write(study, chosen.out)
    print(f"{text}\n\nwrote {', '.join(str(path) for path in [path, *paths])}")
    return 0


def played(run: Run, asked: Options, about: dict[str, Any]) -> Study:
    """The run as a study without designs, with the scores of its games and of random ones."""
    spent = {"seconds": run.seconds, "steps": int(run.curve.groupby("seed").step.max().sum())}  # of all its agents
    name = f"games_{about['run']}{'_greedy' * asked.greedy}"
    if asked.seed is not None:
        run, name = one_seed(run, asked.seed), f"{name}_seed{asked.seed}"
    config, curve, seeds = run.config, run.curve, run.config.seed_list
    done = [(Job(config, run.tricks), "fixed", Result(curve, {"diverged": run.diverged} | spent | provenance()))]
    scores = {
        "trained": run.evaluate(asked.games, asked.greedy).tolist(),
        "random": at_random(run).evaluate(asked.games).tolist(),
    }
    about = about | made(done) | {"seeds": [min(seeds), max(seeds) + 1], "games": scores, "greedy": asked.greedy}
    return Study(name, (), gather(done, seeds), about)


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
    about, seeds = study.about, sorted(study.runs.seed)
    agents = (
        f"one agent (seed {seeds[0]})" if len(seeds) == 1 else f"{len(seeds)} agents (seeds {seeds[0]} to {seeds[-1]})"
    )
    trained, random = (_spanned(mean(study, who)) for who in ("trained", "random"))
    likely = " with the most likely actions" if about["greedy"] else ""
    late = study.runs.late.mean(skipna=False)
    before = f" In the last tenth of training it was {late:.1f}." if np.isfinite(late) else ""
    count, over = len(about["games"]["trained"][0]), "agents" if len(seeds) >= FEWEST else "games"
    return (
        f"On {study.env}, {agents} after {study.steps:,} steps: mean score {trained}{likely}, against {random} with "
        f"random actions ({count} whole games each; 95% intervals over {over}).{before}{_clock(study)}"
    )


def _clock(study: Study) -> str:
    """How long the training took, if the run says so, and what that means for the published Atari scores."""
    about = study.about
    if not about["seconds"] > 0:
        return ""
    rate = about["steps"] / about["seconds"]
    said = f" Training took {spoken(about['seconds'])}, {rate:,.0f} steps a second"
    if study.env.startswith("ALE/"):
        said += f"; at that rate {LONG // 10**6} million would take {spoken(LONG / rate)}"
    return f"{said}."


def mean(study: Study, who: str) -> Paired:
    """The mean score of whole games, who: `trained` or `random`, with its 95% interval by Student's t.

    The interval is over agents; with fewer than FEWEST, over all their games, and then it is about these agents only.
    """
    scores = np.array(study.about["games"][who])  # [S, games]
    return paired(scores.mean(1) if len(scores) >= FEWEST else scores.ravel())


def _spanned(found: Paired) -> str:
    return f"{found.mean:.1f} [{found.low:.1f}, {found.high:.1f}]"


def write(study: Study, folder: Path) -> tuple[str, list[Path]]:
    """What it says in words; the paths of the figure and of the curve behind it, which it writes into the folder."""
    style.use()
    figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
    draw(study, axis)
    title(figure, f"{study.env}: while it is learned, and when that is done")
    behind = grid(study.runs, study.steps).T.rename_axis("step").add_prefix("seed ").reset_index()
    return in_words(study), save(figure, folder / study.name, behind)


def draw(study: Study, axis: Axes) -> None:
    """The mean curve; beside its end the mean of the trained agents' games, and the level of random ones."""
    returns = grid(study.runs, study.steps).mean()
    axis.plot(returns, color=style.FAINT, lw=1)
    axis.plot(returns.rolling(AVERAGED).mean(), color=style.INK)
    trained, random = (mean(study, who) for who in ("trained", "random"))
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
