"""`sweep` and `random`: every combination of some numbers, or random flags and numbers, and what each choice does."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Annotated, Any

import pandas as pd

from ablations.analysis.agents import AGENTS, CHOICES, choices, fixed, means, varied
from ablations.experiments.options import Numbered
from ablations.question.arms import Arm, flags, in_words, numbers
from ablations.question.grids import DRAWN, PER_SET, drawn, parse, stacks
from ablations.question.words import arm_from, idle, missing_for, refuse_idle, tricks_named, usable
from ablations.report.agents_in_words import choices_in_words, ranges_in_words
from ablations.training.jobs import Job, own_of
from ablations.training.question import train_jobs
from ablations.training.store import Store, as_file_name, digest, name_of
from tricks.config import Config
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.ladder import NEEDS, Tricks, closed, switched
from tricks.runs.files import write_whole
from tricks.runs.provenance import provenance
from tricks.training import refuse_endless
from tricks.version import ALGORITHM

MOST, MOST_DRAWN = 100_000, 1_000_000  # agents of one sweep, and of one random design
RATES = (0.001, 0.003, 0.01, 0.03)  # of a sweep, unless others are named
ABOUT_VARY = (
    "A number and its values, such as clip_range=0.1,0.2,0.4; may be given several times. All combinations train, and "
    f"with them the learning rates {', '.join(f'{lr:g}' for lr in RATES)}, unless lr is among the numbers. A number "
    "with one value, such as gamma=0.9, holds in all of them."
)


@dataclass(frozen=True)
class Agents(Numbered):
    env: str = "CartPole-v1"
    """Any environment id."""
    steps: int = 100_000
    """Budget of environment steps per agent."""

    @property
    def base(self) -> Config:
        """What all agents have in common. Raises InputError for an environment that cannot be."""
        base = Config(env=self.env, steps=self.steps, seeds=1, device=self.device)
        make_env(base).close()
        return base


@dataclass(frozen=True)
class Options(Agents):
    vary: Annotated[tuple[str, ...], ABOUT_VARY] = ()
    rung: str = "ppo"
    """A preset, or a flag for the ladder up to it, or in quotes with flags and numbers: `continuous --no-state-norm`.
    Presets bring their numbers."""
    seeds: int = 10
    """Seeds of each combination; combinations that differ in numbers such as lr have different ones."""


@dataclass(frozen=True)
class RandomOptions(Agents):
    """How many agents to draw. Numbers given here hold for all agents."""

    draws: int = 2000
    """Agents: every ten of them share a random set of flags, and each has numbers of its own."""
    tricks: str = ""
    """The tricks to draw from, such as clip,gae,entropy (default: all of the ladder that can have an effect).
    What these need is always on."""


def sweep(chosen: Options, command: str) -> int:
    start, given, grid = time.perf_counter(), chosen.given, parse(chosen.vary)
    arm = arm_from(chosen.rung, ["lr", *given])
    if not grid:
        raise InputError("--vary is missing; for example: --vary clip_range=0.1,0.2,0.4")
    for name in grid:
        if fault := idle(name, arm.tricks):
            needed = missing_for(name, arm.tricks)
            raise InputError(f"{fault}; --rung {chosen.rung}+{needed[0]}" if needed else fault)
        if name in given:
            raise InputError(f"this sweep varies {name}, so leave out --{name.replace('_', '-')}")
    grid.setdefault("lr", (given["lr"],) if "lr" in given else RATES)
    refuse_idle([arm], given)
    combinations = prod(map(len, grid.values()))
    if chosen.seeds < 1:
        raise InputError(f"--seeds must be at least 1, not {chosen.seeds}")
    if combinations * chosen.seeds > MOST:
        raise InputError(f"that is {combinations * chosen.seeds:,} agents; a sweep has at most {MOST:,}")
    held = {name: value for name, value in (dict(arm.numbers) | given).items() if name not in grid}
    base = replace(chosen.base, **held)
    shown = sorted(grid, key=lambda name: name == "lr")  # lr last, wherever it stood
    what = f"{combinations} combinations × {chosen.seeds} seeds × {chosen.steps:,} steps"
    every = [(arm.tricks, config) for config in stacks(base, grid, chosen.seeds)]
    path, runs = _trained(chosen, (f"sweep_{chosen.rung}", chosen.env, "-".join(shown)), every, shown, what)
    if means(runs, shown).isna().all():
        raise InputError(f"no combination has a score: in each, some agent ended no episode in {chosen.steps:,} steps")
    facts = _facts(base, arm.tricks) | {"rung": chosen.rung, "command": command}
    runs = runs.drop(columns="set").assign(**facts, **provenance())
    from ablations.report.multiples import sweep_figure  # slow to load, as matplotlib is

    title = f"{chosen.rung}{fixed(runs)} on {chosen.env}: {', '.join(varied(runs))}; "
    title += f"{chosen.seeds} seeds a combination{f', {numbers(base)}' * bool(numbers(base))}\n"
    title += "line: at the best of the other numbers, with its 95% interval; dots: every combination"
    return _show(path, ranges_in_words(runs), {".sweep.csv": runs}, sweep_figure(runs, title, path), start)


def random(chosen: RandomOptions, command: str) -> int:
    start, held, count = time.perf_counter(), chosen.given, chosen.draws
    if not 2 * PER_SET <= count <= MOST_DRAWN or count % PER_SET:
        raise InputError(f"--draws must be a multiple of {PER_SET} from {2 * PER_SET} to {MOST_DRAWN:,}, not {count}")
    base = chosen.base
    names = tricks_named(chosen.tricks) if chosen.tricks else usable(base)
    arm = Arm("these tricks", switched(closed(names)), held)
    refuse_idle([arm], held)
    every = [(tricks, arm.config(config)) for tricks, config in drawn(base, names, count // PER_SET)]
    parts = ("random", chosen.env, f"{count}draws", "-".join(names) * bool(chosen.tricks))
    path, runs = _trained(chosen, parts, every, [*names, *DRAWN], f"{count:,} agents")
    agents = runs.assign(**_facts(arm.config(base), arm.tricks), command=command, **provenance())
    own = [each for each in (*names, *DRAWN) if each not in held and not idle(each, arm.tricks)]
    table = choices(runs.assign(score=runs.score.fillna(runs.score.min())), own)
    from ablations.report.multiples import choices_figure

    figures = choices_figure(table, f"{count:,} random configurations on {chosen.env}", path)
    return _show(path, choices_in_words(table, runs, chosen.steps), {AGENTS: agents, CHOICES: table}, figures, start)


def _trained(
    chosen: Agents, parts: Sequence[str], every: Sequence[tuple[Tricks, Config]], names: Sequence[str], what: str
) -> tuple[Path, pd.DataFrame]:
    """Train what is missing. Returns where the results go, by `parts`, and a row per agent, with columns of `names`."""
    processes, jobs, rows = chosen.processes, dict[Job, str](), list[pd.DataFrame]()
    for tricks, config in every:
        refuse_endless(config, tricks)
        jobs[Job(config, tricks, own_of(config))] = in_words(tricks)
    store = Store(chosen.out)
    train_jobs(jobs, store, processes, what)
    for k, job in enumerate(jobs):
        found, seeds = store.scored(job), job.config.seed_list
        assert found is not None
        own = {each: getattr(job.tricks, each) if each in NEEDS else job.config.each(each) for each in names}
        rows.append(pd.DataFrame({"set": k, **own, "seed": seeds, **found.table(seeds)}))
    steps = f"{chosen.steps}steps" * (chosen.steps != Config.steps)
    name = name_of(*parts, steps, chosen.said, digest([job.what for job in jobs]), first=0)
    return chosen.out / as_file_name(name), pd.concat(rows, ignore_index=True)


def _facts(config: Config, tricks: Tricks) -> dict[str, Any]:
    about = {"env": config.env, "steps": config.steps, "flags": flags(tricks), "numbers": numbers(config)}
    return about | {"device": Job(config, tricks).device, "algorithm": ALGORITHM}


def _show(path: Path, text: str, tables: Mapping[str, pd.DataFrame], figures: Sequence[Path], start: float) -> int:
    from ablations.report.style import save_table

    paths = [save_table(table, path.with_name(path.name + end)) for end, table in tables.items()]
    paths.append(path.with_name(path.name + ".md"))
    write_whole(paths[-1], text + "\n")
    wrote = ", ".join(map(str, [*paths, *figures]))
    print(f"\n{text}\n\n{time.perf_counter() - start:.0f} seconds; wrote {wrote}")
    return 0
