"""As many finished jobs as you like, with made-up curves of the usual size, to measure how reading them scales.

`python -m support.many_jobs FOLDER [SEEDS]` makes a study by hand (in tests/), `--random AGENTS` a random design.
"""

import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablations.design.choice import usable
from ablations.design.draws import PER_SET, drawn
from ablations.training.jobs import Job, result_text
from ablations.training.plan import Plan, plans
from ablations.training.store import Store
from ablations.training.tagged_csv import untagged
from ablations.training.what import What
from tricks import Config, Run
from tricks.runs.learning_curve import COLUMNS

DESIGNS = "ladder,leave-one-out,add-one-in"  # 47 distinct arms


def fill(out: Path, seeds: int) -> Plan:
    """Store a result for every job of the three designs on CartPole-v1, as `run --out` would, without training."""
    (plan,) = plans(What(design=DESIGNS, out=out), str(seeds))
    store, rng = Store(out / "jobs"), np.random.default_rng(0)
    for number, job in enumerate(plan.jobs):
        store.put(job, made_up(job, number % len(plan.arms), rng))
    return plan


def fill_random(out: Path, draws: int, updates: int = 25) -> list[Job]:
    """Store a result for every job of the random design on CartPole-v1, as `random --draws --out` would: many, fast.

    All have the same curves, of `updates` rows per seed.
    """
    base = Config(seeds=1)
    jobs = [Job(each.config, each.tricks) for each in drawn(base, list(usable(base)), draws // PER_SET)]
    (out / "jobs").mkdir(parents=True)
    long = replace(jobs[0].config, lanes=8, horizon=-(-base.steps // (8 * updates)))
    about, rows = untagged(made_up(Job(long, jobs[0].tricks), 0))
    lines = rows.drop(columns="seed").to_csv(index=False, float_format="%.6g").splitlines()
    for job in jobs:
        rows_of = [(seed, 1 + place * updates) for place, seed in enumerate(job.config.seed_list)]
        body = "".join(f"{seed},{line}\n" for seed, first in rows_of for line in lines[first:][:updates])
        text = f"# {json.dumps(about | {'what': job.what, 'sha256': ''})}\nseed,{lines[0]}\n{body}"
        sealed = text.replace('"sha256": ""', f'"sha256": "{hashlib.sha256(text.encode()).hexdigest()}"', 1)
        (out / "jobs" / f"{job.key}.csv").write_text(sealed, encoding="utf-8")
    return jobs


def made_up(job: Job, arm: int, rng: np.random.Generator | None = None) -> str:
    """The text of a result whose returns rise towards a ceiling that depends on the arm, with noise per seed."""
    config, rng = job.config, rng or np.random.default_rng(0)
    updates = -(-config.steps // (config.lanes * config.horizon))
    size = len(config.seed_list) * updates
    update = np.tile(np.arange(updates), len(config.seed_list))
    ceiling = np.repeat(200 + 5 * arm + rng.normal(0, 40, len(config.seed_list)), updates)
    columns = {name: rng.normal(size=size) for name in COLUMNS} | {"seed": np.repeat(config.seed_list, updates)}
    columns |= {"update": update, "step": (update + 1) * config.lanes * config.horizon}
    columns |= {"episodes": rng.integers(1, 40, size), "length": rng.uniform(10, 500, size)}
    columns |= {"return": 20 + ceiling * update / updates + rng.normal(0, 10, size)}
    nobody: Any = None  # a result holds no agent
    run = Run(config, job.tricks, nobody, pd.DataFrame(columns)[list(COLUMNS)], {}, {}, 100.0)
    return result_text(job, run, run.seconds)


if __name__ == "__main__":
    folder, *rest = sys.argv[1:]
    (fill_random if rest[:1] == ["--random"] else fill)(Path(folder), int(rest[-1]) if rest else 430)
