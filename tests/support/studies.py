"""Jobs of a second or less, files with damage of every kind, and studies made up for tests, whose effects are known."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablations.analysis.records import COLUMNS, About, Study
from ablations.question.arms import Design, flags
from ablations.training.jobs import Job, Result, compute
from ablations.training.store import JOBS as FILE
from ablations.training.store import Store
from tricks import REINFORCE, Config, switched
from tricks.runs.learning_curve import COLUMNS as CURVE
from tricks.runs.provenance import MadeWith, provenance_of_a_run
from tricks.version import ALGORITHM

TINY = Config(seeds=(0, 1), steps=200, lanes=2, horizon=16)
JOB = Job(TINY, REINFORCE)
SMALL = Job(Config(seeds=1, steps=20, lanes=1, horizon=16), REINFORCE)  # its curve has two rows or so
JOBS = [Job(Config(seeds=(k, k + 1), steps=3000, lanes=8, horizon=64), switched(["baseline"])) for k in range(4)]


def in_turn(jobs: Sequence[Any], workers: int, task: Callable[[Any], Any]) -> Iterator[tuple[Any, Any]]:
    """In place of `in_pool`: a pool of workers costs seconds before it trains anything."""
    return ((job, task(job)) for job in jobs)


def result(job: Job) -> Result:
    """What training the job gives."""
    found = compute(job)
    assert isinstance(found, Result), found
    return found


def content(store: Store, job: Job) -> tuple[Any, ...]:
    """A result but for what differs between equal runs."""
    found = store.read(job)
    assert found is not None
    made = {name: each for name, each in found.made_with.items() if name not in ("commit", "date", "dirty")}
    return found.curve.to_csv(), dict(found.diverged), found.steps, made


def finished(folder: Path) -> dict[str, str]:
    """The stored results as others see them, by their keys: each as text, to the last byte."""
    if not (folder / FILE).exists():
        return {}
    with closing(sqlite3.connect(f"{(folder / FILE).absolute().as_uri()}?mode=ro", uri=True)) as disk:
        made = disk.execute("SELECT name FROM sqlite_master WHERE name = 'jobs'").fetchone()
        return {row[0]: repr(row[1:]) for row in disk.execute("SELECT * FROM jobs")} if made else {}


def flips(whole: bytes) -> Iterator[bytes]:
    """The bytes with one bit flipped, one for every byte, the bits in turn."""
    for i, byte in enumerate(whole):
        yield whole[:i] + bytes([byte ^ 1 << i % 8]) + whole[i + 1 :]


def made_up(job: Job, ceiling: float, rng: np.random.Generator, noise: float = 40.0) -> Result:
    """A result whose returns rise towards this ceiling, with noise per seed."""
    config = job.config
    updates = -(-config.steps // (config.lanes * config.horizon))
    size = len(config.seed_list) * updates
    update = np.tile(np.arange(updates), len(config.seed_list))
    height = np.repeat(ceiling + rng.normal(0, noise, len(config.seed_list)), updates)
    columns = {name: rng.normal(size=size) for name in CURVE} | {"seed": np.repeat(config.seed_list, updates)}
    columns |= {"update": update, "step": (update + 1) * config.lanes * config.horizon}
    columns |= {"episodes": rng.integers(1, 40, size), "length": rng.uniform(10, 500, size)}
    columns |= {"return": 20 + height * update / updates + rng.normal(0, noise / 4, size)}
    return Result(pd.DataFrame(columns)[list(CURVE)], {}, 100.0, config.steps * len(config.seed_list), made_with())


@cache
def made_with() -> MadeWith:
    return provenance_of_a_run("cpu")


MADE_BY = (str(ALGORITHM), "0.0.0", "", "", "True", "x86_64")  # algorithm, version, commit, clean, compiled, platform


def study(design: Design, value: Callable[[set[str]], float], env: str = "CartPole-v1", seeds: int = 8) -> Study:
    """A study in which each arm's curve is flat, at 100 + 10·seed + what `value` says of its flags."""
    rows = []
    for arm in design.arms:
        for seed in range(seeds):
            score = 100.0 + 10 * seed + value(set(arm.tricks.on))
            setting = "", env, 100_000, "", flags(arm.tricks), 0.02, "", seed
            rows.append([*setting, *MADE_BY, np.nan, score, *[score] * 100])
    return Study(f"made_{env}", (design,), pd.DataFrame(rows, columns=COLUMNS), about(seeds))


def about(seeds: int) -> About:
    return {"command": "x", "seconds": 1.0, "steps": 1.0, "made with": {"torch": ["2"]}, "seeds": [0, seeds]}


def bimodal(u: np.ndarray, failing: float) -> np.ndarray:
    """Returns like CartPole's: failed seeds between 60 and 140, the others between 480 and 500."""
    return np.where(u < failing, 60 + 80 * u / failing, 480 + 20 * (u - failing) / (1 - failing))
