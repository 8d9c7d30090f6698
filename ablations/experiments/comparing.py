"""Arms against a reference: checked, trained at their rates, and put together."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ablations.analysis.choosing import means_chosen
from ablations.analysis.compared import Against, compared, differences_by_rate, margin_of
from ablations.design.flag_sets import in_words, numbers
from ablations.design.spoken import refuse_unfit
from ablations.design.story import Arm, Design
from ablations.report.comparison_page import Compared, write_comparison
from ablations.training.jobs import Job, Result
from ablations.training.own import own_of
from ablations.training.plan import name_of
from ablations.training.seed_ranges import FIRST_TUNING_SEED
from ablations.training.store import Store, prepare
from ablations.training.tuning import SEEDS_PER_RATE, Seen, searched, still_wanted
from ablations.training.workers import run_jobs, worker_count
from tricks import Config
from tricks.errors import InputError

TEN = 10  # seeds of a job: about as fast as one alone, and more seeds later leave these as they are


class Request(NamedTuple):
    """A comparison to be made."""

    arms: Sequence[Arm]
    config: Config
    seeds: tuple[int, ...]
    against: Against = ""
    """The reference of all arms (empty: the first), or of each arm that has one."""
    rates: tuple[float, ...] | None = ()
    """None: the whole procedure of tuning."""
    rate_seeds: int = SEEDS_PER_RATE
    margin: float | None = None
    design: Design | None = None
    """The design that the arms are of, if they are."""


def answer(asked: Request, out: Path, workers: int, env: Any = None, body: Any = None, command: str = "") -> Compared:
    """Check everything, train what is missing, and write the results. Raises InputError as `compare`."""
    start = time.perf_counter()
    asked = asked._replace(arms=_reference_first(asked.arms, asked.against))
    settings = settings_of(asked, env, body)
    processes = worker_count(workers, asked.config.device)
    prepare(out)
    here = [each.own for each in settings if each.own is not None and not each.own.pickled]
    if here:
        print("the functions cannot go to other processes, so all trains in this one, and no job is kept", flush=True)
    with TemporaryDirectory() as nowhere:
        store = Store(Path(nowhere) if here else out / "jobs")
        areas = tuned(settings, asked, store, processes)
        rates = [best(found) for found in areas] or [each.config.rates[0] for each in settings]
        arms = zip(asked.arms, settings, rates, strict=True)
        jobs = {arm.name: jobs_of(setting, rate, asked.seeds) for arm, setting, rate in arms}
        _train([job for some in jobs.values() for job in some], store, processes)
        read = {name: [_result(job, store) for job in some] for name, some in jobs.items()}
    found = _found(asked, settings, jobs, read, areas, env is not None)
    made = replace(found, rates=_said_of_rates(asked, rates), command=command)
    return write_comparison(made, out, name_of_request(asked), time.perf_counter() - start)


def settings_of(asked: Request, env: Any = None, body: Any = None) -> list[Job]:
    """A job for each arm, whose seeds and rate don't matter. Raises InputError for arms that cannot be trained."""
    from tricks.reading.replaced import home
    from tricks.runs.opening import open_env, refuse_endless

    refuse_unfit(asked.arms)
    if max(asked.seeds, default=0) >= FIRST_TUNING_SEED or len(set(asked.seeds)) < max(1, len(asked.seeds)):
        raise InputError(f"seeds must be distinct, at least one, and below {FIRST_TUNING_SEED:,}")
    if asked.rate_seeds < 1:
        raise InputError(f"rate_seeds must be at least 1, not {asked.rate_seeds}")
    if asked.margin is not None and not asked.margin > 0:
        raise InputError(f"the margin must be positive, not {asked.margin}")
    found = []
    for arm in asked.arms:
        if asked.rates != () and "lr" in dict(arm.numbers):
            raise InputError(f"arm {arm.name!r} has its own learning rate: leave that out, or leave out the rates")
        config = arm.config(replace(asked.config, seeds=asked.seeds[:1] or 1))
        own = own_of(config.env, env=env, body=body, replaced=dict(arm.functions))
        try:
            for name, _ in arm.functions:
                home(name)
            refuse_endless(config, arm.tricks)
            small = replace(config, lanes=1, horizon=max(config.horizon, config.minibatches), device="cpu")
            open_env(small, arm.tricks, env, body).close()
        except InputError as error:
            raise InputError(f"arm {arm.name!r}: {error}") from None
        found.append(Job(config, arm.tricks, own))
    return found


def _reference_first(arms: Sequence[Arm], against: Against) -> list[Arm]:
    names = [arm.name for arm in arms]
    if not isinstance(against, str):
        return list(arms)
    if against and against not in names:
        raise InputError(f"the reference {against!r} is no arm; the arms are {', '.join(map(repr, names))}")
    first = names.index(against) if against else 0
    return [arms[first], *arms[:first], *arms[first + 1 :]] if arms else []


def tuned(settings: Sequence[Job], asked: Request, store: Store, workers: int) -> list[dict[float, Seen]]:
    """What each arm scored at each rate; empty if no rate is chosen."""
    if asked.rates == ():
        return []
    grid = asked.rates

    def wanted(seen: Mapping[float, Seen]) -> dict[float, range]:
        if grid is None:
            return still_wanted(seen, asked.rate_seeds)
        return {rate: range(asked.rate_seeds) for rate in grid if rate not in seen}

    found = searched(settings, store, workers, wanted)
    return [found[each] for each in settings]


def best(seen: Mapping[float, Seen]) -> float:
    """The rate with the best mean area, of those with the most seeds. Raises InputError if none has a score."""
    most = max(len(each.areas) for each in seen.values())
    finalists = {rate: each.area for rate, each in sorted(seen.items()) if len(each.areas) == most}
    return max(finalists, key=finalists.__getitem__)


def jobs_of(setting: Job, rate: float, seeds: Sequence[int]) -> list[Job]:
    """The jobs that train an arm at its rate on all seeds."""
    return [setting.at(tuple(seeds[k : k + TEN]), rate) for k in range(0, len(seeds), TEN)]


def _train(jobs: Sequence[Job], store: Store, workers: int) -> None:
    failed = run_jobs(jobs, store, workers)
    if failed:
        raise InputError(f"{len(failed)} of {len(jobs)} jobs failed: {next(iter(failed.values()))}")


def _result(job: Job, store: Store) -> tuple[pd.DataFrame, Result]:
    """A finished job's scores, a row per seed, and its result."""
    scores, result = store.scored(job), store.read(job)
    assert scores is not None
    assert result is not None
    return scores.table(job.config.seed_list).rename(columns={"score": "area"}), result


def _found(
    asked: Request,
    settings: Sequence[Job],
    jobs: Mapping[str, Sequence[Job]],
    read: Mapping[str, Sequence[tuple[pd.DataFrame, Result]]],
    areas: Sequence[Mapping[float, Seen]],
    own_env: bool,
) -> Compared:
    rows, curves = [], []
    for arm, setting in zip(asked.arms, settings, strict=True):
        about: dict[str, Any] = {"arm": arm.name, "env": setting.config.env, "steps": setting.config.steps}
        about |= {"tricks": in_words(arm.tricks), "numbers": numbers(setting.config)}
        for job, (scores, result) in zip(jobs[arm.name], read[arm.name], strict=True):
            rows.append(scores.rename_axis("seed").reset_index().assign(**about, lr=job.config.rates[0]))
            curves.append(result.curve.assign(arm=arm.name))
    runs = pd.concat(rows, ignore_index=True)
    runs = runs[["arm", "seed", "env", "steps", "tricks", "numbers", "lr", "area", "late", "diverged"]]
    if runs.area.isna().all():
        raise InputError(f"no arm has a score: no episode ended in {asked.config.steps:,} steps; raise the budget")
    curve = pd.concat(curves, ignore_index=True)
    curve = curve[["arm", *curve.columns.drop("arm")]]
    names = [arm.name for arm in asked.arms]
    against = asked.against or names[0]
    choosing = {
        name: float(np.var(means_chosen([np.array(seen[lr].areas) for lr in sorted(seen)])))
        for name, seen in zip(names, areas, strict=False)
        if len(seen) > 1
    }
    margin = asked.margin if own_env or asked.margin is not None else margin_of(asked.config.env)
    by_rate = {name: {lr: each.areas for lr, each in seen.items()} for name, seen in zip(names, areas, strict=False)}
    return Compared(
        asked.config.env,
        asked.config,
        tuple(asked.arms),
        compared(runs, against, choosing, margin),
        runs,
        curve.dropna(axis=1, how="all"),
        differences_by_rate(by_rate, against) if by_rate else None,
        design=asked.design,
    )


def _said_of_rates(asked: Request, rates: Sequence[float]) -> str:
    if asked.rates is None:
        return "each arm at its own tuned learning rate"
    if asked.rates:
        return f"each arm at its own best learning rate of {', '.join(f'{lr:g}' for lr in asked.rates)}"
    if len({*rates}) == 1:
        return f"all arms at learning rate {rates[0]:g}, as given"
    return "each arm at the learning rate that was given"


def name_of_request(asked: Request) -> str:
    """The name of its folder: `compare_CartPole-v1_ppo_vs_ppo_--no-gae`, with what is not the default."""
    arms = "_vs_".join(arm.name for arm in asked.arms)
    if asked.design:
        whole = repr([(arm.tricks.on, arm.numbers, arm.name) for arm in asked.arms])
        arms = f"{asked.design.name}_{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
    own = numbers(asked.config)
    steps = f"{asked.config.steps}steps" if asked.config.steps != Config.steps else ""
    rates = "tuned" if asked.rates is None else "rates" + "-".join(f"{lr:g}" for lr in asked.rates)
    said = name_of("compare", asked.config.env, arms, own, rates.removesuffix("rates"), steps, first=min(asked.seeds))
    return "".join(c if c.isalnum() or c in "._+-=," else "_" for c in said)
