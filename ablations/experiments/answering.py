"""Questions are answered: checked, trained at their rates, written down, and put on a page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from ablations.analysis.ledger import fresh_seeds, looks, shares
from ablations.analysis.records import RESULTS, SUFFIX, Study, load, save, study_of
from ablations.question.arms import Arm
from ablations.report.answer import Answer
from ablations.report.page import write_answer
from ablations.report.sentences import spoken
from ablations.training.estimate import estimate
from ablations.training.question import Question, Tuned, chosen, refuse_impossible
from ablations.training.rates import Rate
from ablations.training.seed_ranges import FIRST_TUNING_SEED
from ablations.training.store import Store, prepare
from ablations.training.tuning import jobs_at
from ablations.training.workers import run_jobs, worker_count
from tricks.errors import InputError
from tricks.ladder import NEEDS

WORLDS = RESULTS / f"worlds_from100{SUFFIX}"
FIRST = 10  # seeds of the first look, where more are added until all is decided
MOST_SEEDS = 100  # per arm, of a question that is asked until it is decided
Ready = tuple[Question, Mapping[Arm, Rate], Tuned]


def answer(
    asked: Sequence[Question],
    seeds: int | Sequence[int],
    until: str,
    at_most: int,
    out: Path,
    workers: int,
    command: str = "",
    trick: str = "",
) -> Answer:
    """Train what is missing for one question in one or several environments, and write the results.

    seeds: which, or how many that no other question of the folder has had. until: "decided" goes on with more seeds
    until every comparison is decided, or each arm has `at_most`. command: of the shell, which is told what is trained,
    and the tables. trick: what is judged, if it is one thing. Raises InputError for what cannot be trained.
    """
    if not asked:
        raise InputError("no environment was named")
    if len({each.config.env for each in asked}) < len(asked):
        raise InputError("an environment was named twice")
    first, every = _seeds(asked, out, seeds, until, at_most)
    asked = [replace(each, seeds=every[:first]) for each in asked]
    for each in asked:
        if command:
            print("\n".join([each.in_words, *(f"dropped: {arm} ({why})" for arm, why in each.designs[0].dropped)]))
        refuse_impossible(replace(each, seeds=every))
    processes = worker_count(workers, asked[0].config.device)
    prepare(out)
    stuck = any(own and not own.pickled for each in asked for arm in each.arms for own in [each.job(arm).own])
    if stuck:
        print("these functions cannot be pickled, so everything trains in this process, and no finished job is kept")
    with TemporaryDirectory() as nowhere:
        store = Store(Path(nowhere) if stuck else out)
        if trick or len(asked) > 1:
            left = sum(_seconds(each, store, processes) for each in asked)
            with_them = f" with {processes} worker{'s' * (processes > 1)}"
            print(f"about {spoken(left)}{with_them}" if left else "everything is trained already", flush=True)
        ready: list[Ready] = [(each, *chosen(each, store, processes)) for each in asked]
        counts = looks(first, at_most) if until else [first]
        for count, share in zip(counts, shares(counts), strict=True):
            now: list[Ready] = [(replace(each, seeds=every[:count]), rates, tried) for each, rates, tried in ready]
            studies = _trained(now, store, processes, command)
            if until and _all_decided(studies, count, share):
                break
        for study in studies:
            study.about["answer"] = studies[0].name
        saved = [save(study, out)[0] for study in studies]
        curves = pd.concat([_curves(one, study, store) for one, study in zip(ready, saved, strict=True)])
    worlds = (load(WORLDS),) if trick in NEEDS and WORLDS.exists() else ()
    found = Answer(tuple(saved), curves, trick, worlds, asked[0].config.record)
    if found.runs.area.isna().all():
        raise InputError(f"no arm has a score: no episode ended in {asked[0].config.steps:,} steps; raise the budget")
    found.files.extend(out / f"{study.name}{SUFFIX}" for study in saved)
    write_answer(found, out, saved[0].name)
    if command:
        print(f"\n{unescape(found.brief)}\n\nwrote {found.files[0]}, and {len(found.files) - 1} other files")
    return found


def _seeds(
    asked: Sequence[Question], out: Path, seeds: int | Sequence[int], until: str, at_most: int
) -> tuple[int, tuple[int, ...]]:
    """How many seeds the first look takes, and all that may be needed: those that were named, and more after them.

    If only their number was given, they are seeds that no other question of the folder has had.
    """
    if until not in ("", "decided"):
        raise InputError(f"until must be decided, not {until!r}")
    if until and at_most < 1:
        raise InputError(f"an arm has at least one seed, not at most {at_most}")
    first = (min(seeds, FIRST) if until else seeds) if isinstance(seeds, int) else len(seeds)
    if first < 1:
        raise InputError("seeds must be distinct, and at least one")
    most = max(first, at_most) if until else first
    if not isinstance(seeds, int):
        later = max(seeds) + 1
        return first, (*seeds, *range(later, later + most - first))
    fresh = fresh_seeds(out, [each.digest for each in asked], most)
    if fresh[-1] >= FIRST_TUNING_SEED:
        raise InputError(f"no {len(fresh)} fresh seeds are left in {out}")
    return first, fresh


def _all_decided(studies: Sequence[Study], count: int, share: float) -> bool:
    """Whether every comparison is, at a look at so many seeds that may be wrong as often as its share."""
    for study in studies:
        study.about["level"] = share
    effects = Answer(tuple(studies)).effects
    left = int(effects.verdict.isin(["", "unknown"]).sum())
    print(f"{count} seeds per arm: {len(effects) - left} of {len(effects)} comparisons decided", flush=True)
    return not left


def _trained(ready: Sequence[Ready], store: Store, workers: int, command: str) -> list[Study]:
    """Train every arm's jobs. Raises InputError, with the name of the arm, if one fails."""
    jobs = {job: arm for asked, rates, _ in ready for arm, rate in rates.items() for job in asked.jobs({arm: rate})}
    failed = run_jobs(list(jobs), store, workers)
    for job, reason in failed.items():
        raise InputError(f"arm {jobs[job].name!r} failed ({len(failed)} jobs did): {reason}")
    return [study_of(asked, rates, tried, store, command) for asked, rates, tried in ready]


def _curves(ready: Ready, study: Study, store: Store) -> pd.DataFrame:
    """The learning curves of a study's runs, with their diagnostics."""
    asked, rates, _ = ready
    wanted = {*study.runs.seed}
    asked = replace(asked, seeds=tuple(sorted(wanted)))
    parts = [
        result.curve[result.curve.seed.isin(wanted)].assign(study=study.name, env=study.env, arm=arm.name)
        for arm, rate in rates.items()
        for job in asked.jobs({arm: rate})
        if (result := store.read(job))
    ]
    curves = pd.concat(parts, ignore_index=True).dropna(axis=1, how="all")
    first = ["study", "env", "arm"]
    return curves[[*first, *curves.columns.drop(first)]]


def _seconds(asked: Question, store: Store, workers: int) -> float:
    """About how long a question will take. Until its rates are chosen, the one given stands in for the best."""
    grid = [float(rate) for rate in asked.rates] if isinstance(asked.rates, tuple) else []
    wanted = dict.fromkeys(grid, range(asked.rate_seeds))
    tries = [job for arm in asked.arms for job in jobs_at(asked.job(arm), wanted)]
    done = bool(tries) and all(map(store.has, tries))
    rates = chosen(asked, store, workers)[0] if done else asked.table_rates
    return estimate([*tries, *asked.jobs(rates)], store, workers)
