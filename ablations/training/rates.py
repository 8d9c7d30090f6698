"""Learning rates: every arm runs at its own, chosen on seeds that are never reported.

A single rate for all arms would be misleading: at a small rate clipping does nothing, and at a large one it decides
between success and collapse. The table `learning_rates.csv` holds the score at every rate of the grid, so it also shows
how robust an arm is to its rate.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from ablations.design.flag_sets import flags, numbers
from ablations.training.jobs import Job
from ablations.training.rate_table import COLUMNS, GRID, KEY, store_table, table
from ablations.training.scores import area, late, on_grid
from ablations.training.store import Store
from ablations.training.workers import run_jobs
from tricks import Config, Tricks
from tricks.errors import InputError

SEEDS_PER_RATE = 5  # by default
MOST_SEEDS_PER_RATE = 10_000
FIRST_TUNING_SEED = 1_000_000_000  # all reported seeds are below
ONCE_TUNED = range(1000, 1100)  # the stored rates were chosen on these, before that number was raised
UNTUNED = 0.003  # the rate of arms that were never tuned: the middle of the grid


class Rate(NamedTuple):
    """A learning rate, and a reservation about it, which is empty if the rate was tuned for exactly this setting."""

    value: float
    reservation: str = ""


NOT_TUNED = Rate(UNTUNED, "not tuned")
FIXED = "fixed"  # the reservation about a rate that was given, not chosen


def best_rate(config: Config, tricks: Tricks, score: str = "area") -> Rate:
    """The rate of the grid with the best `score`, area or late, on the tuning seeds.

    Its reservation is empty if it was tuned for this budget. Otherwise it says for which, or that it was not tuned.
    """
    scores = table()
    mine = (scores.env == config.env) & (scores.numbers == numbers(config)) & (scores.tricks == flags(tricks))
    scores = scores[mine]
    if scores.empty:
        return NOT_TUNED
    budget = config.steps if (scores.steps == config.steps).any() else int(scores.steps.max())
    scores = scores[scores.steps == budget]
    best = float(scores.lr.to_numpy()[scores[score].fillna(-np.inf).to_numpy().argmax()])
    return Rate(best, "" if budget == config.steps else f"tuned at {budget:,} steps")


def tune(
    settings: Sequence[tuple[Config, Tricks]], store: Store, workers: int, seeds: int = SEEDS_PER_RATE
) -> pd.DataFrame:
    """Train every setting at every rate of the grid, and put the scores into the table. seeds: tuning seeds per rate.

    Each setting is one job, in which its rates are trained side by side, each on its own seeds. All earlier scores of
    the setting are replaced, whatever their rates and seeds. Raises InputError if a job fails.
    """
    jobs = {setting: tuning_job(*setting, seeds) for setting in settings}
    failed = run_jobs(list(jobs.values()), store, workers)
    if failed:
        raise InputError(f"{len(failed)} of {len(jobs)} jobs failed: {next(iter(failed.values()))}")
    rows = []
    for (config, tricks), job in jobs.items():
        result = store.scored(job)
        assert result is not None
        whole = area(on_grid(result.curve, config.steps, result.diverged))
        scores = (whole, late(result.curve, config.steps, result.diverged))
        rate = pd.Series(job.config.rates, job.config.seed_list)
        for lr in GRID:
            means = (float(f"{score[rate == lr].mean(skipna=False):.5g}") for score in scores)
            rows.append((config.env, config.steps, numbers(config), flags(tricks), lr, *means, seeds))
    fresh = pd.DataFrame(rows, columns=COLUMNS).drop_duplicates(KEY)
    setting, before = KEY[:-1], table()
    others = before[~before.set_index(setting).index.isin(fresh.set_index(setting).index)]
    both = pd.concat([part for part in (fresh, others) if len(part)])
    store_table(both)
    return fresh


def tuning_job(config: Config, tricks: Tricks, seeds: int = SEEDS_PER_RATE) -> Job:
    """All rates of the grid in one stack. seeds: how many there are for each rate."""
    rates = tuple(lr for lr in GRID for _ in range(seeds))
    return Job(replace(config, seeds=tuple(range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + len(rates))), lr=rates), tricks)
