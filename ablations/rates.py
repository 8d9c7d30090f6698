"""Learning rates: every arm runs at its own, chosen on seeds that are never reported.

One rate for all would tell the wrong story: at a small one clipping does nothing, at a large one it is the
difference between collapse and success. The table `learning_rates.csv` holds every score of the grid, so that it
also shows how robust an arm is to its rate.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd

from ablations.designs import Arm
from ablations.run import run_jobs
from ablations.stats import area, on_grid
from ablations.store import Job, Store, write_whole
from tricks import Config, Tricks
from tricks.core.errors import InputError

TABLE = Path(__file__).with_name("learning_rates.csv")
GRID = (0.0003, 0.001, 0.003, 0.01, 0.03)
TUNING_SEEDS = tuple(range(1000, 1008))  # disjoint from the seeds that are reported, which start at 0
COLUMNS = ("env", "steps", "tricks", "lr", "area", "seeds")


@cache
def table() -> pd.DataFrame:
    """Every tuned score: environment, steps, flags, learning rate, mean area under the curve, seeds."""
    return pd.read_csv(TABLE, keep_default_na=False) if TABLE.exists() else pd.DataFrame(columns=list(COLUMNS))


def best_rate(env: str, steps: int, tricks: Tricks) -> tuple[float, str]:
    """The rate of the grid with the largest area under the curve on the tuning seeds, and a reservation.

    The reservation is empty if the rate was tuned for this budget; else it says for which, or that it was not tuned.
    """
    scores = table()
    scores = scores[(scores.env == env) & (scores.tricks == " ".join(tricks.on))]
    if scores.empty:
        return Config.lr, "not tuned"
    budget = steps if (scores.steps == steps).any() else int(scores.steps.max())
    scores = scores[scores.steps == budget]
    best = float(scores.lr.to_numpy()[scores.area.to_numpy().argmax()])
    return best, "" if budget == steps else f"tuned at {budget:,} steps"


def tune(env: str, steps: int, arms: tuple[Arm, ...], store: Store, workers: int) -> pd.DataFrame:
    """Train every arm at every rate of the grid on the tuning seeds, and put the scores into the table."""
    base = Config(env=env, steps=steps, seeds=TUNING_SEEDS)
    jobs = {(arm.tricks, lr): Job(replace(base, lr=lr), arm.tricks) for arm in arms for lr in GRID}
    failed = run_jobs(list(jobs.values()), store, workers)
    if failed:
        raise InputError(f"{len(failed)} of {len(jobs)} jobs failed: {next(iter(failed.values()))}")
    rows = []
    for (tricks, lr), job in jobs.items():
        result = store.read(job)
        assert result is not None
        score = area(on_grid(result.curve, steps, dict(result.about["diverged"]))).mean()
        rows.append((env, steps, " ".join(tricks.on), lr, round(float(score), 2), len(TUNING_SEEDS)))
    fresh = pd.DataFrame(rows, columns=list(COLUMNS))
    both = pd.concat([fresh, table()]).drop_duplicates(["env", "steps", "tricks", "lr"])
    write_whole(TABLE, both.sort_values(["env", "steps", "tricks", "lr"]).to_csv(index=False))
    table.cache_clear()
    return fresh
