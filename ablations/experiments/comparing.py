"""Arms against a reference: checked, trained at their rates, and put together."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.choosing import means_chosen
from ablations.analysis.compared import Frames, compared_arms, differences_by_rate, margin_of, span_of
from ablations.design.arms import Arm
from ablations.design.flag_sets import in_words, numbers
from ablations.design.own_file import replaced_in_words
from ablations.experiments.requests import Request, jobs_of, name_of_request, reference_first, settings_of
from ablations.report.comparison_page import Compared, write_comparison
from ablations.training import jobs as current
from ablations.training.jobs import Job
from ablations.training.store import Store, prepare
from ablations.training.tuning import Tried, searched, still_wanted
from ablations.training.workers import run_jobs, worker_count
from tricks.core.env import MakeEnv
from tricks.core.nets import MakeBody
from tricks.errors import InputError


def show(asked: Request, out: Path, workers: int, command: str) -> None:
    """Answer, and print what is trained, the table, and where the files are."""
    about = f"{asked.design.name}, on {asked.config.env}" if asked.design else asked.config.env
    print(f"{about}: {len(asked.arms)} arms × {len(asked.seeds)} seeds × {asked.config.steps:,} steps", flush=True)
    for name, reason in asked.design.dropped if asked.design else ():
        print(f"dropped: {name} ({reason})")
    found = answer(asked, out, workers, command=command)
    print(f"\n{found.brief}\n\nwrote {found.files[0]}, and {len(found.files) - 1} other files in its folder")


def answer(
    asked: Request,
    out: Path,
    workers: int,
    env: MakeEnv | None = None,
    body: MakeBody | None = None,
    command: str = "",
) -> Compared:
    """Check everything, train what is missing, and write the results. Raises InputError as `compare`."""
    start = time.perf_counter()
    asked = asked._replace(arms=reference_first(asked.arms, asked.against))
    settings = settings_of(asked, env, body)
    processes = worker_count(workers, asked.config.device)
    prepare(out)
    stuck = any(each.own is not None and not each.own.pickled for each in settings)
    if stuck:
        print("these functions cannot be pickled, so everything trains in this process, and no finished job is kept")
    with TemporaryDirectory() as nowhere:
        store = Store(Path(nowhere) if stuck else out / "jobs")
        seen = tuned(settings, asked, store, processes)
        rates = [best(each) for each in seen] or [each.config.rates[0] for each in settings]
        jobs = [jobs_of(setting, lr, asked.seeds) for setting, lr in zip(settings, rates, strict=True)]
        _train(asked.arms, jobs, store, processes)
        runs, curves = _frames(asked.arms, jobs, store)
    if runs.area.isna().all():
        raise InputError(f"no arm has a score: no episode ended in {asked.config.steps:,} steps; raise the budget")
    names = [arm.name for arm in asked.arms]
    against = asked.against or names[0]
    areas = {name: {lr: each.areas for lr, each in found.items()} for name, found in zip(names, seen, strict=False)}
    choosing = {name: _noise(found) for name, found in areas.items()}
    made = Compared(
        asked.config,
        tuple(asked.arms),
        compared_arms(runs, against, choosing, _margin(asked, env), span_of("" if env else asked.config.env, curves)),
        runs,
        curves,
        differences_by_rate(areas, against) if areas else None,
        _said_of_rates(asked, rates),
        command,
        asked.design,
    )
    return write_comparison(made, out, name_of_request(asked, settings, out), time.perf_counter() - start)


def tuned(settings: Sequence[Job], asked: Request, store: Store, workers: int) -> list[dict[float, Tried]]:
    """What each arm scored at each rate; empty if no rate is chosen."""
    if asked.rates == ():
        return []
    grid = asked.rates

    def wanted(seen: Mapping[float, Tried]) -> dict[float, range]:
        if grid is None:
            return still_wanted(seen, asked.rate_seeds)
        return {rate: range(asked.rate_seeds) for rate in grid if rate not in seen}

    found = searched(settings, store, workers, wanted)
    return [found[each] for each in settings]


def best(seen: Mapping[float, Tried]) -> float:
    """The rate with the best mean area, of those with the most seeds; a rate without an episode's end is the last."""
    most = max(len(each.areas) for each in seen.values())
    finalists = {rate: each.area for rate, each in sorted(seen.items()) if len(each.areas) == most}
    return max(finalists, key=finalists.__getitem__)


def _train(arms: Sequence[Arm], jobs: Sequence[Sequence[Job]], store: Store, workers: int) -> None:
    """Train every arm's jobs. Raises InputError, with the name of the arm, if one fails."""
    failed = run_jobs([job for some in jobs for job in some], store, workers)
    for arm, some in zip(arms, jobs, strict=True):
        for job in some:
            if job in failed:
                raise InputError(f"arm {arm.name!r} failed ({len(failed)} jobs did): {failed[job]}")


def _frames(arms: Sequence[Arm], jobs: Sequence[Sequence[Job]], store: Store) -> Frames:
    """The scores and the curves of finished jobs."""
    rows, curves = [], []
    for arm, some in zip(arms, jobs, strict=True):
        for job in some:
            config, scores, result = job.config, store.scored(job), store.read(job)
            assert scores is not None
            assert result is not None
            about: dict[str, Any] = {"env": config.env, "steps": config.steps, "tricks": in_words(arm.tricks)}
            about |= {"numbers": numbers(config), "lr": config.rates[0]}
            about |= {"replaced": replaced_in_words(dict(arm.functions))} if arm.functions else {}
            own = scores.table(config.seed_list).rename(columns={"score": "area"}).rename_axis("seed").reset_index()
            rows.append(own.assign(arm=arm.name, **about)[["arm", "seed", *about, "area", "late", "diverged"]])
            rows[-1]["algorithm"] = current.ALGORITHM
            curves.append(result.curve.assign(arm=arm.name)[["arm", *result.curve.columns]])
    curve = pd.concat(curves, ignore_index=True)
    return Frames(pd.concat(rows, ignore_index=True), curve.dropna(axis=1, how="all"))


def _noise(areas: Mapping[float, Sequence[float]]) -> float:
    """The variance of an arm's mean area over the choice of its rate."""
    return float(np.var(means_chosen([np.array(areas[lr]) for lr in sorted(areas)])))


def _margin(asked: Request, env: MakeEnv | None) -> float | None:
    """The margin that was given, or that of the environment's scale; one of the user's own has none."""
    return asked.margin if asked.margin is not None or env is not None else margin_of(asked.config.env)


def _said_of_rates(asked: Request, rates: Sequence[float]) -> str:
    if asked.rates is None:
        return "each arm at its own tuned learning rate"
    if asked.rates:
        return f"each arm at its own best learning rate of {', '.join(f'{lr:g}' for lr in asked.rates)}"
    if len({*rates}) == 1:
        return f"all arms at learning rate {rates[0]:g}, as given"
    return "each arm at the learning rate that was given"
