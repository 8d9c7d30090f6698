"""`python -m ablations status` and `refresh`: which stored studies are older than the code, and training those anew."""

import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd

from ablations.analysis.records import RESULTS, SUFFIX, Study, load
from ablations.report.sentences import spoken
from ablations.report.tables import markdown
from tricks.errors import InputError
from tricks.version import ALGORITHM


@dataclass(frozen=True)
class Options:
    """Which studies to look at."""

    out: Path = Path("runs/ablations")
    """Folder with the studies."""
    from_results: bool = False
    """Look at the studies that ship with this package instead."""


@dataclass(frozen=True)
class RefreshOptions(Options):
    """Which studies to train anew, and for how long."""

    budget: str = ""
    """How long to train, such as 90m or 2h (default: until all are done). What is finished by then is kept. The new
    studies go to --out; with --from-results, to runs/refresh."""
    workers: int = 0
    """Number of worker processes (0: one per core, or one per GPU)."""


def main(chosen: Options) -> int:
    """Print which studies there are, and which are stale. Returns the exit status: 1 if some are."""
    studies = _studies(chosen)
    lines = [("study", "seeds", "by", "age", "")]
    for study in studies:
        first, end = study.about["seeds"]
        lines.append((study.name, f"{first}:{end}", ", ".join(study.origins), _age(study), "stale" * is_stale(study)))
    stale = sum(map(is_stale, studies))
    said = f"{stale} of {len(studies)} studies are stale: not by ALGORITHM {ALGORITHM} and a clean tree"
    print(f"{markdown(lines)}\n\n{said}")
    return int(stale > 0)


def refresh(chosen: RefreshOptions) -> int:
    """Train stale studies anew, by the commands that made them, those first that most comparisons use.

    Returns the exit status: 1 if some are left.
    """
    old = [study for study in _studies(chosen) if is_stale(study) and study.kind != "games"]  # those need a saved run
    left = sorted(old, key=lambda study: -sum(len(d.comparisons) for d in study.designs))
    out = Path("runs/refresh") if chosen.from_results else chosen.out
    end = time.monotonic() + seconds(chosen.budget) if chosen.budget else float("inf")
    commands = dict.fromkeys(study.about["command"] for study in left)  # a command can make several studies
    for k, command in enumerate(commands):
        if time.monotonic() >= end:
            print(f"the budget is used up; {len(commands) - k} commands are left, and the same command resumes")
            return 1
        print(f"{k + 1} of {len(commands)}: {command}", flush=True)
        if not _ran(command, out, chosen.workers, end):
            return 1
    return 0


def is_stale(study: Study) -> bool:
    """Whether it was trained by another algorithm than this version's, or by a tree with changes."""
    return study.origins != [f"ALGORITHM {ALGORITHM}"]


def seconds(budget: str) -> float:
    """Of `90m`, `2h` or `600s`. Raises InputError for anything else."""
    try:
        found = pd.Timedelta(budget).total_seconds()
    except ValueError:
        found = np.nan
    if not found >= 1:  # a number without a unit is in nanoseconds
        raise InputError(f"--budget must be a time such as 90m or 2h, not {budget!r}")
    return found


def _ran(command: str, out: Path, workers: int, end: float) -> bool:
    """Run a command of ours in a process of its own until then. Returns whether it was finished."""
    words = shlex.split(command.partition(";")[0])
    if words[:3] != ["python", "-m", "ablations"]:
        raise InputError(f"no command of this package made it: {command}")
    again = [sys.executable, "-m", "ablations", *(words[3:] or ["run"]), "--out", str(out), "--workers", str(workers)]
    process = subprocess.Popen(again)
    try:
        return process.wait(None if end == float("inf") else max(0.0, end - time.monotonic())) in (0, 1)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # it keeps its finished jobs
        process.wait()
        print("the budget is used up; the same command resumes")
        return False


def _studies(chosen: Options) -> list[Study]:
    """The studies of the folder. Raises InputError if there are none."""
    folder = RESULTS if chosen.from_results else chosen.out
    found = [load(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]
    if not found:
        raise InputError(f"no run files (*{SUFFIX}) in {folder}")
    return found


def _age(study: Study) -> str:
    dates: Sequence[str] = study.about["made with"].get("date", ())
    if not dates:
        return "unknown"
    then = datetime.fromisoformat(max(dates))
    return spoken((datetime.now(UTC) - then).total_seconds()).replace(" hours", " h")
