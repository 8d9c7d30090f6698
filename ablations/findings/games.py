"""`python -m ablations games RUN`: score the agents of a saved run in whole games, next to random actions.

Use it for scores that are measured after training, and for environments such as Atari that take too long to train over
many seeds. One agent shows that it learns, and how fast. To see how much of that is luck, you need more agents.
"""

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch

from ablations.analysis.stats import FEWEST
from ablations.analysis.studies import SHARES, About, Done, Games, Study, about_runs, gather
from ablations.analysis.study_files import SUFFIX, load_if_whole, save
from ablations.findings.games_section import write_games
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


@dataclass(frozen=True)
class Options:
    """Which agents, how they play, and where the results go."""

    run: Annotated[tuple[Path, ...], POSITIONAL] = ()
    """Folder of one saved run."""
    seed: int | None = None
    """Play only the agent of this seed."""
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
    players = run if chosen.seed is None else run.only(chosen.seed)
    made = trained(run, players, chosen, folder.resolve().name, command)
    refuse_another_run(chosen.out / f"{made.name}{SUFFIX}", made)
    study, path = save(played(made, players, chosen), chosen.out)
    text, paths = write_games(study, chosen.out)
    print(f"{text}\n\nwrote {', '.join(str(path) for path in [path, *paths])}")
    return 0


def refuse_another_run(path: Path, study: Study) -> None:
    """Raise InputError if the file holds games of an earlier run in this folder, or of one in a folder named alike."""
    before = load_if_whole(path)
    if before is None:
        return
    stored, new = (found.runs.set_index("seed")[SHARES] for found in (before, study))
    if not stored.index.equals(new.index) or not np.allclose(stored, new, rtol=1e-3, equal_nan=True):
        raise InputError(f"{path} holds the games of an earlier or another run of this name; choose another --out")


def trained(run: Run, players: Run, asked: Options, called: str, command: str) -> Study:
    """The training of the players, a part of the run, as a study without designs and, so far, without games.

    called: the run's name.
    """
    steps = int(run.curve.groupby("seed").step.max().sum())  # of all its agents, as run.seconds is their time
    config, seeds = players.config, players.config.seed_list
    result = Result(players.curve, players.diverged, run.seconds, steps, provenance())
    done = [Done(Job(config, run.tricks), FIXED, scored(result, config.steps))]
    parts = ["games", called, "greedy" * asked.greedy, "" if asked.seed is None else f"seed{asked.seed}"]
    about = about_runs(command, done, seeds)
    about["run"], about["greedy"] = called, asked.greedy
    return Study(name_of(*parts, first=0), (), gather(done, seeds), about)


def played(study: Study, players: Run, asked: Options) -> Study:
    """The study with the scores of the players' games and of random ones."""
    chance = at_random(players)
    scores: Games = {
        "trained": players.evaluate(asked.games, asked.greedy).tolist(),
        "random": chance.evaluate(asked.games).tolist(),
    }
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
