"""Tuning: train each arm at a grid of learning rates, look closer at the best three, and move on past the grid's edges.

One look at ten seeds confuses luck with quality: the best and the second rate are often closer than their standard
error. So the best rates are trained on as many seeds again, and the choice is made on all of them.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ablations.question.arms import flags, numbers
from ablations.training.jobs import Job
from ablations.training.rates import COLUMNS, FINALISTS, GRID, KEY, best_by_mean, store_table
from ablations.training.seed_ranges import FIRST_TUNING_SEED
from ablations.training.store import Store
from ablations.training.workers import run_jobs
from tricks.errors import InputError

SEEDS_PER_RATE = 10  # at first
MOST_SEEDS_PER_RATE = 10_000
OTHERS = 50_000  # places for rates that are not in EVERY
EVERY = (1e-5, 3e-5, 1e-4, *GRID, 1.0)  # the grid, and where it may be extended to
Wanted = Mapping[float, range]  # rates, and which of its tuning seeds each needs, counted from 0


class Tried(NamedTuple):
    """The scores of one arm at one rate: a value per tuning seed."""

    areas: tuple[float, ...]
    lates: tuple[float, ...]


def tune(arms: Sequence[Job], store: Store, workers: int, seeds: int = SEEDS_PER_RATE) -> pd.DataFrame:
    """Train every arm at the rates of the grid, and put the scores into the table in place of all that it had.

    arms: jobs, whose own seeds and rates don't matter. seeds: per rate, and as many again for the best FINALISTS.
    """
    found, rows = searched(arms, store, workers, lambda seen: still_wanted(seen, seeds)), list[tuple[Any, ...]]()
    for arm, seen in found.items():
        config, signed = arm.config, arm.config.reward_sign
        setting = (config.env, config.steps, numbers(config, signed), flags(arm.tricks, signed))
        for rate, each in seen.items():
            means = (float(f"{np.mean(values):.5g}") for values in each)
            areas = " ".join(f"{area:.5g}" for area in each.areas)
            rows.append((*setting, rate, *means, len(each.areas), areas))
    fresh = pd.DataFrame(rows, columns=COLUMNS).drop_duplicates(KEY)
    store_table(fresh)
    return fresh


def searched(
    arms: Sequence[Job], store: Store, workers: int, wanted: Callable[[Mapping[float, Tried]], Wanted]
) -> dict[Job, dict[float, Tried]]:
    """Train each arm at the rates that `wanted` asks for after what was seen, until none. InputError if a job fails."""
    seen: dict[Job, dict[float, Tried]] = {arm: {} for arm in arms}
    while jobs := [(arm, job) for arm in seen for job in jobs_at(arm, wanted(seen[arm]))]:
        if failed := run_jobs([job for _, job in jobs], store, workers):
            raise InputError(f"{len(failed)} of {len(jobs)} jobs failed: {next(iter(failed.values()))}")
        for arm, job in jobs:
            found = store.scored(job)
            assert found is not None
            scores = found.table(job.config.seed_list).assign(rate=job.config.rates)
            for rate in dict.fromkeys(job.config.rates):
                old, new = seen[arm].get(rate, Tried((), ())), scores[scores.rate == rate]
                seen[arm][rate] = Tried((*old.areas, *new.score), (*old.lates, *new.late))
    return seen


def jobs_at(arm: Job, wanted: Wanted) -> list[Job]:
    """The jobs that train an arm at these rates, each on these of its tuning seeds.

    All rates share one stack, but for whole episodes: those of rates that collapse would be padded to those that learn.
    """
    apart = [[(tuning_seed(rate, k), rate) for k in places] for rate, places in sorted(wanted.items())]
    stacks = [list(chain(*apart))] if arm.tricks.segments else apart
    return [arm.at(*zip(*stack, strict=True)) for stack in stacks if stack]


def tuning_seed(rate: float, k: int) -> int:
    """The k-th tuning seed of a rate; no other rate has it (of those outside EVERY, hardly another)."""
    place = EVERY.index(rate) if rate in EVERY else len(EVERY) + zlib.crc32(f"{rate:.6g}".encode()) % OTHERS
    return FIRST_TUNING_SEED + place * 2 * MOST_SEEDS_PER_RATE + k


def still_wanted(seen: Mapping[float, Tried], seeds: int) -> dict[float, range]:
    """Which seeds, counted from 0, each rate still needs: first the grid, then past its edge, then the best again."""
    if missing := [rate for rate in GRID if rate not in seen]:
        return dict.fromkeys(missing, range(seeds))
    first = {rate: np.nan_to_num(np.mean(each.areas[:seeds]), nan=-np.inf) for rate, each in seen.items()}
    finalists = sorted(first, key=first.__getitem__, reverse=True)[:FINALISTS]
    if beyond := _past_the_edge(finalists[0], seen):
        return dict.fromkeys(beyond, range(seeds))
    if missing := [rate for rate in finalists if len(seen[rate].areas) == seeds]:
        return dict.fromkeys(missing, range(seeds, 2 * seeds))
    best = best_by_mean({rate: each.areas for rate, each in seen.items()})
    return dict.fromkeys(_past_the_edge(best, seen), range(2 * seeds))


def _past_the_edge(best: float, seen: Mapping[float, Tried]) -> list[float]:
    """The next rate if the best is the lowest or the highest so far; none if it is inside, or at the last of all."""
    k = EVERY.index(best)
    return [rate for rate in EVERY[max(0, k - 1) : k + 2] if rate not in seen]
