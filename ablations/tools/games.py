"""`python -m ablations games RUN`: score the agents of a saved run in whole games, next to random actions.

Use it for scores that are measured after training, and for environments such as Atari that take too long to train over
many seeds. One agent shows that it learns, and how fast. To see how much of that is luck, you need more agents.
"""

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes

from ablations.analysis import records
from ablations.analysis.records import SHARES, SUFFIX, About, Done, Study, grid
from ablations.analysis.stats import AVERAGED, FEWEST, Estimate, paired
from ablations.report import style
from ablations.report.markup import image, plain
from ablations.report.multiples import DASHED, thousands, title
from ablations.report.sentences import spoken
from ablations.training.jobs import Job, Result
from ablations.training.rates import FIXED
from ablations.training.scores import scored
from ablations.training.store import name_of, prepare
from tricks.cli.shell import POSITIONAL
from tricks.errors import InputError
from tricks.restore import load_to_play
from tricks.runs.files import as_path, clean_up
from tricks.runs.provenance import provenance
from tricks.runs.run import Run


def mean_score(study: Study, who: Literal["trained", "random"]) -> Estimate:
    """The mean score of whole games, by trained agents or random actions, with its 95% interval (Student's t).

    The interval is over agents. With fewer than FEWEST it is over all their games, and describes only these agents.
    """
    scores = np.array(study.about["games"][who])  # [S, games]
    return paired(scores.mean(1) if len(scores) >= FEWEST else scores.ravel())


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


LONG = 10_000_000  # environment steps of the published Atari scores


def write_games(study: Study, folder: Path) -> list[Path]:
    """Draw and save the figure, and the curve behind it as CSV. Returns their paths."""
    style.use()
    figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
    draw_games(study, axis)
    title(figure, f"{study.env}: while it is learned, and when that is done")
    behind = grid(study.runs, study.steps).T.rename_axis("step").add_prefix("seed ").reset_index()
    return style.save(figure, folder / study.name, behind)


def section(study: Study, folder: Path) -> tuple[str, list[Path]]:
    """The section on a study of games, and its files."""
    paths, said = write_games(study, folder), games_in_words(study)
    flags = f"Flags: {plain(study.runs.tricks.iloc[0].replace(' ', ', ')) or 'none'}."
    shown = image(paths, f"{study.about['run']}: the score during training, and of whole games after it")
    likely = ", most likely actions" if study.about["greedy"] else ""
    return f"## {plain(study.env)}: {plain(study.about['run'])}{likely}\n\n{shown}\n\n{said} {flags}", paths


def games_in_words(study: Study) -> str:
    """The scores of the games and the time that training took, in sentences."""
    about, seeds = study.about, sorted(study.runs.seed)
    many = f"{len(seeds)} agents (seeds {seeds[0]} to {seeds[-1]})"
    agents = many if len(seeds) > 1 else f"one agent (seed {seeds[0]})"
    trained, random = (_spanned(mean_score(study, who)) for who in ("trained", "random"))
    likely = " with the most likely actions" if about["greedy"] else ""
    late = study.runs.late.mean(skipna=False)
    before = f" In the last tenth of training it was {late:.1f}." if np.isfinite(late) else ""
    count, over = len(about["games"]["trained"][0]), "agents" if len(seeds) >= FEWEST else "games"
    return (
        f"On {plain(study.env)}, {agents} after {study.steps:,} steps: "
        f"mean score {trained}{likely}, against {random} with "
        f"random actions ({count} whole games each; 95% intervals over {over}).{before}{_clock(study)}"
    )


def _clock(study: Study) -> str:
    """How long training took, if the run says so, and how long published Atari scores would take at that rate."""
    about = study.about
    if not about["seconds"] > 0:
        return ""
    rate = about["steps"] / about["seconds"]
    said = f" Training took {spoken(about['seconds'])}, {rate:,.0f} steps a second"
    if study.env.startswith("ALE/"):
        said += f"; at that rate {LONG // 10**6} million would take {spoken(LONG / rate)}"
    return f"{said}."


def _spanned(found: Estimate) -> str:
    return f"{found.mean:.1f} [{found.low:.1f}, {found.high:.1f}]"


@dataclass(frozen=True)
class Options:
    """Which agents, how they play, and where the results go."""

    run: Annotated[tuple[Path, ...], POSITIONAL] = ()
    """Folder of one saved run."""
    games: int = 30
    """Whole games per trained agent, and as many again with random actions, which must be discrete."""
    greedy: bool = False
    """The agents take their most likely actions instead of sampling."""
    env: str | None = None
    """The run's own environment as module:Id: names the module that may be imported."""
    eval_env: str | None = None
    """The same for the environment that its evaluations have of their own. The games are played there, unless only
    --env is given."""
    wrap: tuple[str, ...] = ()
    """The run's own wrappers, module:Wrapper each: name the modules that may be imported."""
    out: Path = Path("runs/ablations")
    """Folder for the results and the figure."""


def main(chosen: Options, command: str) -> int:
    """Play the games, then print and save the scores. Returns the exit status."""
    if not chosen.run:
        raise InputError("games takes the folder of a saved run, for example: python -m ablations games runs/x")
    if len(chosen.run) > 1:
        raise InputError(f"games takes one folder, not {len(chosen.run)}: {', '.join(map(str, chosen.run))}")
    if chosen.games < FEWEST:
        raise InputError(f"--games must be at least {FEWEST} for an interval, not {chosen.games}")
    folder = as_path(chosen.run[0])
    clean_up(folder)
    run = load_to_play(folder, chosen.env, chosen.eval_env, chosen.wrap)
    prepare(chosen.out)
    made = trained(run, chosen, folder.resolve().name, command)
    refuse_another_run(chosen.out / f"{made.name}{SUFFIX}", made)
    study, path = records.save(played(made, run, chosen), chosen.out)
    files = [path, *write_games(study, chosen.out)]
    print(f"{games_in_words(study)}\n\nwrote {', '.join(map(str, files))}")
    return 0


def refuse_another_run(path: Path, study: Study) -> None:
    """Raise InputError if the file holds games of an earlier run in this folder, or of one in a folder named alike."""
    before = records.load_if_whole(path)
    if before is None:
        return
    stored, new = (found.runs.set_index("seed")[SHARES] for found in (before, study))
    if not stored.index.equals(new.index) or not np.allclose(stored, new, rtol=1e-3, equal_nan=True):
        raise InputError(f"{path} holds the games of an earlier or another run of this name; choose another --out")


def trained(run: Run, asked: Options, called: str, command: str) -> Study:
    """The training of a run as a study without designs and, so far, without games. called: the run's name."""
    config, seeds = run.config, run.config.seed_list
    steps = int(run.curve.groupby("seed").step.max().sum())
    result = Result(run.curve, run.diverged, run.seconds, steps, {**provenance()})
    done = [Done(Job(config, run.tricks), FIXED, scored(result, config.steps))]
    about = records.about_runs(command, done, seeds)
    about["run"], about["greedy"] = called, asked.greedy
    name = name_of("games", called, "greedy" * asked.greedy, first=0)
    return Study(name, (), records.gather(done, seeds), about)


def played(study: Study, run: Run, asked: Options) -> Study:
    """The study with the scores of the agents' games and of random ones."""
    chance = at_random(run).evaluate(asked.games).tolist()
    scores: records.Games = {"trained": run.evaluate(asked.games, asked.greedy).tolist(), "random": chance}
    about: About = {**study.about, "games": scores}
    return replace(study, about=about)


def at_random(run: Run) -> Run:
    """The same run with an agent that draws every legal action with the same probability.

    Raises InputError for Box actions, which have no standard random policy.
    """
    if not run.agent.spaces.discrete:
        raise InputError(f"{run.config.env} has Box actions, and there is no standard way to draw those at random")
    agent = copy.deepcopy(run.agent)
    with torch.no_grad():
        for parameter in agent.policy_net.head.parameters():
            parameter.zero_()
    return replace(run, agent=agent)
