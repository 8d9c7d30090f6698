"""A job: one stack of seeds to train; and the text that its result is kept as."""

import hashlib
import io
import json
import platform
import subprocess
import time
import traceback
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from tricks import Config, Run, Tricks
from tricks.errors import InputError
from tricks.runs.log import COLUMNS

ALGORITHM = 3  # raise it when a change of the library changes curves: old results then no longer count


@dataclass(frozen=True)
class Job:
    """One training run: a stack of seeds with the same numbers and flags."""

    config: Config
    tricks: Tricks

    @property
    def what(self) -> dict[str, Any]:
        """Everything that the curve depends on, as plain values."""
        config = asdict(self.config) | {"seeds": self.config.seed_list}
        what = {"algorithm": ALGORITHM, "config": config, "tricks": self.tricks.on}
        return json.loads(json.dumps(what))  # tuples become lists, as they are read back

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(self.what, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Result:
    """A finished job: its learning curve, and about it the first line of its file."""

    curve: pd.DataFrame
    about: dict[str, Any]


@dataclass(frozen=True)
class Finished:
    """What came of a job: the text of its result file, or why it failed, in one line and in full."""

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
    """The result file of a job that took so many seconds."""
    about = {
        "what": job.what,
        "rows": len(run.curve),
        "diverged": list(run.diverged.items()),
        "seconds": round(seconds, 2),
        "steps": int(run.curve.groupby("seed").step.max().sum()),
        **provenance(),
    }
    return f"# {json.dumps(about)}\n" + run.curve.to_csv(index=False, float_format="%.6g")


def parse_result(job: Job, text: str) -> Result:
    """What `result_text` wrote. Raises ValueError, in one line, if it is not all there or another job's."""
    first, _, rest = text.partition("\n")
    try:
        about = json.loads(first.removeprefix("# "))
        curve = pd.read_csv(io.StringIO(rest))
        known = tuple(curve) == COLUMNS and {"diverged", "seconds", "steps"} <= set(about)
        mine, rows = about["what"] == job.what, about["rows"]
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise ValueError("it is not the result of a job")
    if not mine:
        raise ValueError("it belongs to another job")
    numeric = all(kind.kind in "if" for kind in curve.dtypes)
    # the last line can be cut, too, and a cut number is a number
    if len(curve) != rows or not text.endswith("\n") or not numeric or set(curve.seed) != set(job.config.seed_list):
        raise ValueError("rows are missing or damaged")
    return Result(curve, about)


@cache
def provenance() -> dict[str, str]:
    """Versions, machine and commit under which a result was made."""
    names = ("tricks", "torch", "numpy", "gymnasium")
    here = Path(__file__).parent
    git = subprocess.run(["git", "-C", here, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return {name: version(name) for name in names} | {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "commit": git.stdout.strip(),
    }
