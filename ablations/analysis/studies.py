"""Runs as one frame, from which every table and figure is made, with or without training.

Each row is the training run of one seed: `env, steps, numbers, tricks, lr, tuned, seed, diverged, late`, and its return
at 1%, 2%, ... 100% of the budget.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import msgspec
import numpy as np
import pandas as pd

from ablations.design.arms import Design
from ablations.design.flag_sets import flags, numbers
from ablations.design.story import subject
from ablations.training import jobs
from ablations.training.jobs import Count, Job
from ablations.training.scores import POINTS, Scored
from ablations.training.store import Store
from tricks.errors import InputError
from tricks.ladder import Tricks
from tricks.runs.provenance import VERSIONS

if TYPE_CHECKING:
    from ablations.training.plan import Plan

SHARES = [f"{k}%" for k in range(1, POINTS + 1)]
COLUMNS = ["env", "steps", "numbers", "tricks", "lr", "tuned", "seed", "diverged", "late", *SHARES]
Scores = Annotated[list[Annotated[list[float], msgspec.Meta(min_length=1)]], msgspec.Meta(min_length=1)]
MadeWith = dict[str, list[str]]  # versions, machines, commits, backends, devices and GPUs of the jobs


class Games(TypedDict):
    trained: Scores
    random: Scores  # one row per agent


About = TypedDict(  # the first line of a run file, under the file's keys
    "About",
    {
        "command": str,
        "seconds": float,  # NaN if unknown
        "steps": float,
        "made with": MadeWith,
        "seeds": Annotated[list[Count], msgspec.Meta(min_length=2, max_length=2)],  # the first, and one past the last
        "left out": NotRequired[Sequence[str]],
        "confirms": NotRequired[str],  # the name of the study whose detected effects these runs try again
        # games only: the run's name, scores of whole games, whether the agents took their most likely actions
        "run": NotRequired[str],
        "games": NotRequired[Games],
        "greedy": NotRequired[bool],
    },
)


@dataclass(frozen=True, eq=False)  # compared by identity, so that results computed from a study can be cached
class Study:
    """Runs, the designs they belong to, and facts about them: the command, the versions, the time they took.

    All runs of a study with designs share one environment, budget and set of numbers.
    """

    name: str
    designs: tuple[Design, ...]
    runs: pd.DataFrame
    about: About
    again: "Study | None" = None
    """The arms of detected effects, tried again on seeds that come after those of `runs`."""

    @property
    def kind(self) -> Literal["designs", "games", "worlds"]:
        """Arms of designs, games of a saved run, or trials in the worlds made for tricks."""
        if self.designs:
            return "designs"
        return "games" if "games" in self.about else "worlds"

    @property
    def subject(self) -> str:
        """The subject of its designs: of one that isn't about the ladder, if there is one."""
        found = [subject(design) for design in self.designs]
        return next((subject for subject in found if subject != "ladder"), "ladder")

    @cached_property
    def env(self) -> str:
        return str(self.runs.env.iloc[0])

    @cached_property
    def steps(self) -> int:
        return int(self.runs.steps.iloc[0])

    @property
    def seeds(self) -> int:
        """How many were asked for; arms that half of a design's comparisons share have twice as many."""
        first, end = self.about["seeds"]
        return end - first

    @property
    def algorithm(self) -> str:
        """The `ALGORITHM` of its jobs; empty if it was not noted, as before it was."""
        return ", ".join(self.about["made with"].get("algorithm", ()))

    def of(self, tricks: Tricks) -> pd.DataFrame:
        """The runs of one arm, one row per seed; empty if there are none."""
        return self._arms.get(flags(tricks), self.runs.iloc[:0])

    @cached_property
    def _arms(self) -> dict[str, pd.DataFrame]:
        return {str(name): runs for name, runs in self.runs.groupby("tricks", sort=False)}

    def grid(self, tricks: Tricks) -> pd.DataFrame:
        """An arm's returns: one row per seed, one column per step."""
        return grid(self.of(tricks), self.steps)

    def missing(self, design: Design) -> list[str]:
        """The names of the design's arms that lack some of the requested seeds."""
        first, end = self.about["seeds"]
        counts = {arm.name: int(self.of(arm.tricks).seed.between(first, end - 1).sum()) for arm in design.arms}
        return [name for name, count in counts.items() if count < self.seeds]

    @property
    def is_whole(self) -> bool:
        """Whether every arm of every design has all its seeds."""
        return not any(self.missing(design) for design in self.designs)


class Done(NamedTuple):
    """A finished job, with any reservation about its learning rate."""

    job: Job
    reservation: str
    result: Scored


def grid(runs: pd.DataFrame, steps: int) -> pd.DataFrame:
    """The returns of one arm's runs in one setting: one row per seed, one column per step."""
    found = runs.set_index("seed")[SHARES].sort_index(kind="stable")
    return found.set_axis(np.linspace(steps / POINTS, steps, POINTS), axis=1)


def study_of(plan: "Plan", store: Store, command: str) -> Study:
    """The finished part of a plan. Raises InputError if nothing is finished."""
    read = ((job, rate, store.scored(job)) for job, rate in plan.jobs.items())
    done = [Done(job, rate.reservation, result) for job, rate, result in read if result is not None]
    about = about_runs(command, done, plan.seeds, jobs.ALGORITHM)
    about["left out"] = plan.left_out
    reported = {seed for arm in plan.arms for seed in plan.seeds_of(arm)}
    return Study(plan.name, plan.designs, gather(done, reported), about)


def about_runs(command: str, done: Sequence[Done], seeds: Sequence[int], algorithm: int | None = None) -> About:
    """The command that made the runs of these seeds, the time they took in total, and the versions behind them.

    algorithm: the `ALGORITHM` of the jobs; None: of runs that are no jobs.
    """
    found = {key: sorted({said for each in done if (said := each.result.made_with[key])}) for key in VERSIONS}
    where = {"backend": sorted({each.job.config.backend for each in done})}
    where["device"] = sorted({each.job.device for each in done})
    where["own code"] = sorted({each.job.own.fingerprint for each in done if each.job.own})
    where["algorithm"] = [] if algorithm is None else [str(algorithm)]
    gpus = sorted({said for each in done if (said := each.result.made_with.get("gpu"))})
    return {
        "command": command,
        "seconds": round(sum(each.result.seconds for each in done), 1),
        "steps": sum(each.result.steps for each in done),
        "made with": found | {key: some for key, some in where.items() if some} | ({"gpu": gpus} if gpus else {}),
        "seeds": [min(seeds), max(seeds) + 1],
    }


def gather(done: Iterable[Done], seeds: Collection[int]) -> pd.DataFrame:
    """The runs of finished jobs, limited to these seeds. Raises InputError if there are no jobs."""
    facts: list[tuple[Any, ...]] = []
    returns, wanted = [np.empty((0, POINTS))], set(seeds)
    for job, reservation, found in done:
        config = job.config
        setting = (config.env, config.steps, numbers(config), flags(job.tricks))
        rate = dict(zip(config.seed_list, config.rates, strict=True))
        mine = [place for place, seed in enumerate(found.seeds) if seed in wanted]
        for k in mine:
            seed = found.seeds[k]
            facts.append((*setting, rate[seed], reservation, seed, found.diverged.get(seed, np.nan), found.late[k]))
        returns.append(found.grid[mine])
    if not facts:
        raise InputError("there are no results")
    shares = pd.DataFrame(np.concatenate(returns), columns=SHARES)
    return pd.concat([pd.DataFrame(facts, columns=COLUMNS[:-POINTS]), shares], axis=1).copy()  # in one piece: faster
