"""`python -m ablations sweep`: a grid of numbers, the learning rate always among them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import pandas as pd

from ablations.analysis.sweeps import fixed, means, varied
from ablations.design.arm_texts import arm_from, refuse_idle
from ablations.design.choice import idle, missing_for
from ablations.design.flag_sets import numbers
from ablations.design.grids import Stack, parse, stacks
from ablations.report.sweep_words import in_words
from ablations.training.gpus import Device
from ablations.training.jobs import job_of
from ablations.training.questions import asked_of, refuse_other_answer
from ablations.training.store import Store, as_file_name, name_of, prepare
from ablations.training.workers import run_jobs, worker_count
from tricks.config import Config
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.ladder import Tricks
from tricks.runs.files import write_whole
from tricks.runs.learning_curve import read_table
from tricks.runs.opening import refuse_endless
from tricks.runs.provenance import provenance

MOST = 100_000  # agents of one sweep
RATES = (0.001, 0.003, 0.01, 0.03)  # unless others are named


@dataclass(frozen=True)
class Options:
    """What to vary, and where the results go."""

    vary: tuple[str, ...] = ()
    """A number and its values, such as clip_range=0.1,0.2,0.4; may be given several times. All combinations train,
    and with them the learning rates 0.001, 0.003, 0.01 and 0.03, unless lr is among the numbers. A number with one
    value, such as gamma=0.9, holds in all of them."""
    rung: str = "ppo"
    """A preset, or a flag for the ladder up to it, or in quotes with flags and numbers: `continuous --no-state-norm`.
    Presets bring their numbers."""
    env: str = "CartPole-v1"
    """Any environment id."""
    seeds: int = 10
    """Seeds of each combination; combinations that differ in numbers such as lr have different ones."""
    steps: int = 100_000
    """Budget of environment steps per seed."""
    device: Device = "cpu"
    workers: int = 0
    """Number of worker processes (0: one per core, or one per GPU)."""
    numbers: tuple[tuple[str, Any], ...] = ()
    """Numbers of `Config` that hold in all combinations."""
    out: Path = Path("runs/ablations")
    """Folder for the results, the tables and the figure."""


def main(chosen: Options, command: str) -> int:
    """Train what is missing, then print and save the table and the figure. Returns the exit status."""
    from ablations.figures.sweep_panels import sweep_figure

    start = time.perf_counter()
    arm = arm_from(chosen.rung, ["lr", *dict(chosen.numbers)])
    tricks, held = arm.tricks, dict(arm.numbers) | dict(chosen.numbers)
    grid = asked(chosen, tricks)
    if twice := [name for name in parse(chosen.vary) if name in dict(chosen.numbers)]:
        option = twice[0].replace("_", "-")
        raise InputError(f"this sweep varies {twice[0]}, so leave out --{option}")
    refuse_idle([arm], dict(chosen.numbers))
    if chosen.seeds < 1:
        raise InputError(f"--seeds must be at least 1, not {chosen.seeds}")
    combinations = prod(len(values) for values in grid.values())
    if combinations * chosen.seeds > MOST:
        raise InputError(f"that is {combinations * chosen.seeds:,} agents; a sweep has at most {MOST:,}")
    workers = worker_count(chosen.workers, chosen.device)
    base = Config(env=chosen.env, steps=chosen.steps, seeds=1, device=chosen.device)
    base = replace(base, **{name: value for name, value in held.items() if name not in grid})
    make_env(base).close()
    store, every = Store(chosen.out / "jobs"), list(stacks(base, grid, chosen.seeds))
    for stack in every:
        try:
            refuse_endless(stack.config, tricks)
        except InputError as error:
            raise InputError(f"--vary has a combination that cannot be: {error}") from None
    steps = "" if chosen.steps == Config.steps else f"{chosen.steps}steps"
    shown = sorted(grid, key=lambda name: name == "lr")  # lr last, wherever it stood
    given = " ".join(f"{name}={value}" for name, value in chosen.numbers)
    parts = (f"sweep_{chosen.rung}", chosen.env.replace("/", "_"), "-".join(shown), steps, given)
    name = as_file_name(name_of(*parts, first=0))
    path = chosen.out / name
    jobs = [job_of(stack.config, tricks) for stack in every]
    made = asked_of(base, tricks, jobs) | {"rung": chosen.rung}
    refuse_other_sweep(path.with_name(f"{name}.sweep.csv"), grid, chosen.seeds, made)
    prepare(chosen.out)
    what = f"{combinations} combinations × {chosen.seeds} seeds × {chosen.steps:,} steps"
    print(f"{what}, in {len(jobs)} jobs", flush=True)
    failed = run_jobs(jobs, store, workers)
    if failed:
        raise InputError(f"{len(failed)} of {len(jobs)} jobs failed: {next(iter(failed.values()))}")
    grid = {name: grid[name] for name in shown}
    runs = pd.concat([rows(stack, tricks, store) for stack in every], ignore_index=True)
    runs = runs[[*grid, *runs.columns.difference([*grid], sort=False)]]
    if means(runs, [*grid]).isna().all():
        raise InputError(f"no combination has a score: in each, some agent ended no episode in {chosen.steps:,} steps")
    runs = runs.assign(**made, command=command, **provenance())
    write_whole(path.with_name(f"{name}.sweep.csv"), runs.to_csv(index=False, float_format="%.6g"))
    text = in_words(runs)
    write_whole(path.with_name(f"{name}.md"), text + "\n")
    title = f"{chosen.rung}{fixed(runs)} on {chosen.env}: {', '.join(varied(runs))}; "
    title += f"{chosen.seeds} seeds a combination{f', {numbers(base)}' * bool(numbers(base))}\n"
    title += "line: at the best of the other numbers, with its 95% interval; dots: every combination"
    figures = sweep_figure(runs, title, path)
    paths = [path.with_name(f"{name}.sweep.csv"), path.with_name(f"{name}.md"), *figures]
    print(f"\n{text}\n\n{time.perf_counter() - start:.0f} seconds; wrote {', '.join(str(p) for p in paths)}")
    return 0


def refuse_other_sweep(path: Path, grid: Mapping[str, Sequence[float]], seeds: int, made: Mapping[str, Any]) -> None:
    """Raise InputError if the file holds a sweep of the same numbers with values or seeds that this one lacks.

    Or one that answers another question. made: see `asked_of`.
    """
    refuse_other_answer(path, made)
    try:
        before = read_table(path)
        gone = [name for name, values in grid.items() if not set(before[name]) <= {float(f"{x:.6g}") for x in values}]
        more = before.groupby([*grid]).size().max() > seeds
        command = before.command.iloc[0]
    except (OSError, ValueError, KeyError, AttributeError, IndexError):
        return  # there is none, or nothing that could be lost
    if gone or more:
        raise InputError(f"{path} holds another sweep, `{command}`, which this one would replace; choose another --out")


def asked(chosen: Options, tricks: Tricks) -> dict[str, tuple[float, ...]]:
    """The numbers to vary and their values, lr among them. Raises InputError for a number that has no effect."""
    grid = parse(chosen.vary)
    if not grid:
        raise InputError("--vary is missing; for example: --vary clip_range=0.1,0.2,0.4")
    for name in grid:
        if fault := idle(name, tricks):
            needed = missing_for(name, tricks)
            raise InputError(f"{fault}; --rung {chosen.rung}+{needed[0]}" if needed else fault)
    given = dict(chosen.numbers)
    return {**grid, "lr": grid.get("lr", (given["lr"],) if "lr" in given else RATES)}


def rows(stack: Stack, tricks: Tricks, store: Store) -> pd.DataFrame:
    """One row per agent of a stack: its numbers, its seed, its scores, and when it diverged."""
    found = store.scored(job_of(stack.config, tricks))
    assert found is not None
    seeds = stack.config.seed_list
    own = found.table(seeds)
    return pd.concat([pd.DataFrame(stack.cells, index=list(seeds)).assign(seed=list(seeds)), own], axis=1)
