"""As many finished jobs as you like, with made-up curves of the usual size."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from ablations.question.grids import PER_SET, drawn
from ablations.question.words import usable
from ablations.training.jobs import Job, Result
from ablations.training.store import Store
from tricks import Config
from tricks.runs.learning_curve import COLUMNS
from tricks.runs.provenance import MadeWith, provenance_of_a_run


def fill_random(out: Path, draws: int) -> list[Job]:
    """Store a result for every job of the random design on CartPole-v1, as `random --draws --out` would."""
    base = Config(seeds=1)
    jobs = [Job(each.config, each.tricks) for each in drawn(base, usable(base), draws // PER_SET)]
    store, rng = Store(out), np.random.default_rng(0)
    for job in jobs:
        store.put(job, made_up(job, 200.0, rng))
    return jobs


def made_up(job: Job, ceiling: float, rng: np.random.Generator, noise: float = 40.0) -> Result:
    """A result whose returns rise towards this ceiling, with noise per seed."""
    config = job.config
    updates = -(-config.steps // (config.lanes * config.horizon))
    size = len(config.seed_list) * updates
    update = np.tile(np.arange(updates), len(config.seed_list))
    height = np.repeat(ceiling + rng.normal(0, noise, len(config.seed_list)), updates)
    columns = {name: rng.normal(size=size) for name in COLUMNS} | {"seed": np.repeat(config.seed_list, updates)}
    columns |= {"update": update, "step": (update + 1) * config.lanes * config.horizon}
    columns |= {"episodes": rng.integers(1, 40, size), "length": rng.uniform(10, 500, size)}
    columns |= {"return": 20 + height * update / updates + rng.normal(0, noise / 4, size)}
    return Result(pd.DataFrame(columns)[list(COLUMNS)], {}, 100.0, config.steps * len(config.seed_list), made_with())


@cache
def made_with() -> MadeWith:
    return provenance_of_a_run("cpu")
