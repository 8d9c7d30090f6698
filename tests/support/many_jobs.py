"""As many finished jobs as you like, with made-up curves of the usual size, to measure how reading them scales.

`python -m support.many_jobs FOLDER [SEEDS]` makes one by hand (in tests/).
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablations.training.jobs import Job, result_text
from ablations.training.plan import Plan, What, plans
from ablations.training.store import Store
from tricks import Run
from tricks.runs.learning_curve import COLUMNS

DESIGNS = "ladder,leave-one-out,add-one-in"  # 47 distinct arms


def fill(out: Path, seeds: int) -> Plan:
    """Store a result for every job of the three designs on CartPole-v1, as `run --out` would, without training."""
    (plan,) = plans(What(design=DESIGNS, out=out), str(seeds))
    store, rng = Store(out / "jobs"), np.random.default_rng(0)
    for number, job in enumerate(plan.jobs):
        store.put(job, made_up(job, number % len(plan.arms), rng))
    return plan


def made_up(job: Job, arm: int, rng: np.random.Generator) -> str:
    """The text of a result whose returns rise towards a ceiling that depends on the arm, with noise per seed."""
    config = job.config
    updates = -(-config.steps // (config.lanes * config.horizon))
    size = len(config.seed_list) * updates
    update = np.tile(np.arange(updates), len(config.seed_list))
    ceiling = np.repeat(200 + 5 * arm + rng.normal(0, 40, len(config.seed_list)), updates)
    columns = {name: rng.normal(size=size) for name in COLUMNS} | {
        "seed": np.repeat(config.seed_list, updates),
        "update": update,
        "step": (update + 1) * config.lanes * config.horizon,
        "episodes": rng.integers(1, 40, size),
        "return": 20 + ceiling * update / updates + rng.normal(0, 10, size),
        "length": rng.uniform(10, 500, size),
    }
    nobody: Any = None  # a result holds no agent
    run = Run(config, job.tricks, nobody, pd.DataFrame(columns)[list(COLUMNS)], {}, {}, 100.0)
    return result_text(job, run, run.seconds)


if __name__ == "__main__":
    fill(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 430)
