"""A job, which is one stack of seeds to train, and the text format of its result."""

import hashlib
import json
import platform
import subprocess
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from ablations.training.tagged_csv import tagged, untagged
from tricks import Config, Run, Tricks
from tricks.errors import InputError
from tricks.runs.log import COLUMNS, DIAGNOSTICS

VERSIONS = ("tricks", "torch", "numpy", "gymnasium", "python", "machine", "commit")  # the keys of `provenance`
ALGORITHM = 3  # raise it when a change to the library, or to a default, changes curves: old results then don't count


@dataclass(frozen=True)
class Job:
    """One training run: a stack of seeds with the same numbers and flags."""

    config: Config
    tricks: Tricks

    @property
    def what(self) -> dict[str, Any]:
        """Everything that the curve depends on, as plain values.

        Of the numbers, only those that are not the defaults: when `Config` gains a number, finished jobs stay finished.
        (When a default changes, curves do, too, so `ALGORITHM` must be raised.)
        """
        own = {f.name: x for f in fields(self.config) if (x := getattr(self.config, f.name)) != f.default}
        config = own | {"env": self.config.env, "steps": self.config.steps, "seeds": self.config.seed_list}
        what = {"algorithm": ALGORITHM, "config": config, "tricks": self.tricks.on}
        as_read_back: dict[str, Any] = json.loads(json.dumps(what))  # tuples become lists
        return as_read_back

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(self.what, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Result:
    """A finished job: its learning curve, and what the first line of its file says about the training."""

    curve: pd.DataFrame
    diverged: Mapping[int, int]
    """The step at which each diverged seed did so."""
    seconds: float
    steps: int
    """Environment steps of all seeds."""
    made_with: Mapping[str, str]
    """See `provenance`."""


@dataclass(frozen=True)
class Finished:
    """The outcome of a job: the text of its result file, or the reason why it failed, in one line and in full."""

    text: str = ""
    error: str = ""
    detail: str = ""


def compute(job: Job) -> Finished:
    """Train one job."""
    from tricks import train

    start = time.perf_counter()
    try:
        run = train(job.config, job.tricks)
        return Finished(result_text(job, run, time.perf_counter() - start))
    except InputError as error:
        return Finished(error=str(error), detail=str(error))
    except Exception as error:
        return Finished(error=f"{type(error).__name__}: {error}", detail=traceback.format_exc())


def result_text(job: Job, run: Run, seconds: float) -> str:
    """The text of a job's result file. seconds: how long the job took."""
    about = {
        "what": job.what,
        "rows": len(run.curve),
        "diverged": list(run.diverged.items()),
        "seconds": round(seconds, 2),
        "steps": int(run.curve.groupby("seed").step.max().sum()),
        **provenance(),
    }
    return tagged(about, run.curve, digits=6)


def parse_result(job: Job, text: str) -> Result:
    """Parse what `result_text` wrote. Diagnostics that are newer than the file are NaN.

    Raises ValueError, in one line, if the text is incomplete or belongs to another job.
    """
    try:
        about, curve = untagged(text)
        known = set(COLUMNS) >= set(curve) >= set(COLUMNS) - set(DIAGNOSTICS)
        mine, rows, diverged = about["what"] == job.what, about["rows"], dict(about["diverged"])
        seconds, steps, made_with = about["seconds"], about["steps"], {name: about.get(name, "") for name in VERSIONS}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        known = False
    if not known:
        raise ValueError("it is not the result of a job")
    if not mine:
        raise ValueError("it belongs to another job")
    numeric = all(kind.kind in "if" for kind in curve.dtypes)
    # the last line can be cut off, too, and a truncated number still parses
    if len(curve) != rows or not text.endswith("\n") or not numeric or set(curve.seed) != set(job.config.seed_list):
        raise ValueError("rows are missing or damaged")
    return Result(curve.reindex(columns=COLUMNS), diverged, seconds, steps, made_with)


@cache
def provenance() -> dict[str, str]:
    """The versions, machine and commit that a result is made with."""
    names = ("tricks", "torch", "numpy", "gymnasium")
    here = Path(__file__).parent
    git = subprocess.run(["git", "-C", here, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return {name: version(name) for name in names} | {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "commit": git.stdout.strip(),
    }
