"""`python -m ablations random`: agents with random flags and numbers, and what each choice does to their scores."""

import gzip
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ablations.analysis.choices import AGENTS, CHOICES, QUANTILES, choices
from ablations.design.arm_texts import refuse_idle
from ablations.design.arms import Arm
from ablations.design.choice import tricks_named, usable
from ablations.design.draws import PER_SET, RANGES, VALUES, WHOLE, Drawn, drawn
from ablations.report.tables import markdown
from ablations.training.gpus import Device
from ablations.training.jobs import job_of
from ablations.training.questions import asked_of, refuse_other_answer
from ablations.training.store import Store, as_file_name, name_of, prepare
from ablations.training.workers import run_jobs, worker_count
from tricks.config import Config
from tricks.envs.make import make_env
from tricks.errors import InputError
from tricks.ladder import closed, switched
from tricks.runs.files import write_whole
from tricks.runs.provenance import provenance

MOST = 1_000_000  # agents


@dataclass(frozen=True)
class Options:
    """How many agents to draw, and where they train."""

    draws: int = 2000
    """Agents: every ten of them share a random set of flags, and each has numbers of its own."""
    tricks: str = ""
    """The tricks to draw from, such as clip,gae,entropy (default: all of the ladder that can have an effect).
    What these need is always on."""
    env: str = "CartPole-v1"
    """Any environment id."""
    steps: int = 100_000
    """Budget of environment steps per agent."""
    device: Device = "cpu"
    workers: int = 0
    """Number of worker processes (0: one per core, or one per GPU)."""
    scheduler: str = ""
    """Address of a Dask scheduler, such as tcp://10.0.0.1:8786, to train there instead of here (extra cluster)."""
    numbers: tuple[tuple[str, Any], ...] = ()
    """Numbers of `Config` that all agents have, instead of drawn ones."""
    out: Path = Path("runs/ablations")
    """Folder for the results, the table and the figure."""


def main(chosen: Options, command: str) -> int:
    """Train what is missing, then print and save the table and the figure. Returns the exit status."""
    from ablations.figures.choice_panels import choices_figure

    if not 2 * PER_SET <= chosen.draws <= MOST or chosen.draws % PER_SET:
        raise InputError(f"--draws must be a multiple of {PER_SET} from {2 * PER_SET} to {MOST:,}, not {chosen.draws}")
    start, workers = time.perf_counter(), worker_count(chosen.workers, chosen.device, chosen.scheduler)
    base = Config(env=chosen.env, steps=chosen.steps, seeds=1, device=chosen.device)
    make_env(replace(base, device="cpu")).close()  # the device may be on a cluster
    names = tricks_named(chosen.tricks) if chosen.tricks else list(usable(base))
    held = dict(chosen.numbers)
    refuse_idle([Arm("these tricks", switched(closed(names)))], held)
    every = [each._replace(config=replace(each.config, **held)) for each in drawn(base, names, chosen.draws // PER_SET)]
    store = Store(chosen.out / "jobs")
    prepare(chosen.out)
    jobs = [job_of(each.config, each.tricks) for each in every]
    given = " ".join(f"{name}={value}" for name, value in held.items())
    steps = "" if chosen.steps == Config.steps else f"{chosen.steps}steps"
    picked = "-".join(names) if chosen.tricks else ""
    name = name_of("random", chosen.env.replace("/", "_"), f"{chosen.draws}draws", picked, steps, given, first=0)
    name = as_file_name(name)
    about = asked_of(replace(base, **held), switched(closed(names)), jobs)
    refuse_other_answer(chosen.out / f"{name}{AGENTS}", about)
    done = sum(store.has(job) for job in jobs)
    print(f"{chosen.draws:,} agents in {len(jobs)} jobs, {done} of them done before", flush=True)
    failed = run_jobs(jobs, store, workers, chosen.scheduler)
    if failed:
        raise InputError(f"{len(failed)} of {len(jobs)} jobs failed: {next(iter(failed.values()))}")
    runs = agents_of(every, names, store)
    varied = [name for name in (*names, *RANGES, *VALUES, *WHOLE) if name not in held]
    agents = runs.assign(**about, command=command, **provenance()).to_csv(index=False, float_format="%.6g")
    write_whole(chosen.out / f"{name}{AGENTS}", gzip.compress(agents.encode(), mtime=0))
    table = choices(runs.assign(score=runs.score.fillna(runs.score.min())), varied)
    write_whole(chosen.out / f"{name}{CHOICES}", table.to_csv(index=False, float_format="%.6g"))
    text = f"{in_words(table)}\n\n{caption(runs, chosen)}"
    write_whole(chosen.out / f"{name}.md", text + "\n")
    paths = choices_figure(table, f"{chosen.draws:,} random configurations on {chosen.env}", chosen.out / name)
    print(f"\n{text}\n\n{time.perf_counter() - start:.0f} seconds; wrote {', '.join(str(p) for p in paths)}")
    return 0


def agents_of(every: Sequence[Drawn], names: Sequence[str], store: Store) -> pd.DataFrame:
    """One row per agent: its set, its seed, its flags and numbers, its scores, and when it diverged."""
    columns: dict[str, list[Any]] = {}
    for k, (tricks, config) in enumerate(every):
        found = store.scored(job_of(config, tricks))
        assert found is not None
        seeds = config.seed_list
        own: dict[str, Any] = {"set": [k] * len(seeds), "seed": seeds}
        own |= {name: [getattr(tricks, name)] * len(seeds) for name in names}
        own |= {name: config.each(name) for name in (*RANGES, *VALUES, *WHOLE)}
        for name, values in {**own, **found.table(seeds)}.items():
            columns.setdefault(name, []).extend(values)
    return pd.DataFrame(columns)


def in_words(table: pd.DataFrame) -> str:
    """The table as Markdown, the choice that explains most first."""
    lines = [("choice", "variance explained", "level", "agents", *(f"{100 * q:g}% quantile" for q in QUANTILES))]
    for _, rows in sorted(table.groupby("choice", sort=False), key=lambda pair: -float(pair[1].explained.iloc[0])):
        for place, row in enumerate(rows.to_dict("records")):
            share = f"{row['explained']:.3f} [{row['explained_low']:.3f}, {row['explained_high']:.3f}]"
            spans = [f"{row[f'q{q:g}']:.4g} [{row[f'q{q:g}_low']:.4g}, {row[f'q{q:g}_high']:.4g}]" for q in QUANTILES]
            first = (f"`{row['choice']}`", share) if place == 0 else ("", "")
            lines.append((*first, str(row["level"]), str(row["agents"]), *spans))
    return markdown(lines)


def caption(runs: pd.DataFrame, chosen: Options) -> str:
    """What the table shows, in words."""
    diverged, silent = int(runs.diverged.notna().sum()), int(runs.score.isna().sum())
    text = (
        f"{len(runs):,} agents with random flags and numbers, {chosen.steps:,} steps each. The score is the area under"
    )
    text += " the curve. Quantiles of the scores of all agents with this level, and the share of the variance of all"
    text += (
        " scores that the choice explains alone (ω²), with 95% intervals, bootstrapped over sets of flags. A flag is"
    )
    text += " judged among the agents that have what it needs, and a trick's number among those that have the trick."
    text += f" {diverged} agents diverged."
    return text + (f" {silent} agents ended no episode and count as the worst." if silent else "")
