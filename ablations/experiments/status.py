"""`python -m ablations status` and `refresh`: which stored studies are stale, and retraining those."""

import shlex
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from ablations.analysis.records import RESULTS, SUFFIX, Study, load
from ablations.experiments.options import OUT, Machine
from ablations.report.sentences import spoken
from ablations.report.tables import markdown
from tricks.errors import InputError
from tricks.version import ALGORITHM

PROGRAM = "python -m ablations"


@dataclass(frozen=True)
class Options:
    out: Path = OUT
    """Folder with the studies."""
    from_results: bool = False
    """Look at the studies that ship with this package instead."""


@dataclass(frozen=True)
class RefreshOptions(Options):
    workers: int = Machine.workers
    """Number of worker processes (0: one per core, or one on a GPU)."""
    budget: str = ""
    """How long to train, such as 90m or 2h (default: until all are done). What is finished by then is kept. The new
    studies go to --out; with --from-results, to runs/refresh."""


def main(chosen: Options) -> int:
    studies, lines = _studies(chosen), [("study", "seeds", "by", "age", "")]
    for study in studies:
        (first, end), dates, age = study.about["seeds"], study.about["made with"].get("date"), "unknown"
        if dates:
            seconds = (datetime.now(UTC) - datetime.fromisoformat(max(dates))).total_seconds()
            age = spoken(seconds).replace(" hours", " h")
        lines.append((study.name, f"{first}:{end}", ", ".join(study.origins), age, "stale" * study.stale))
    stale = sum(study.stale for study in studies)
    said = f"{stale} of {len(studies)} studies are stale (not trained by ALGORITHM {ALGORITHM} from a clean tree)"
    print(f"{markdown(lines)}\n\n{said}")
    return int(stale > 0)


def refresh(chosen: RefreshOptions) -> int:
    """Retrain stale studies by the commands that made them, the largest first. The status is 1 if some are left."""
    old = [study for study in _studies(chosen) if study.stale]
    left = sorted(old, key=lambda study: -sum(len(d.comparisons) for d in study.designs))
    out = Path("runs/refresh") if chosen.from_results else chosen.out
    end = time.monotonic() + _seconds(chosen.budget) if chosen.budget else None
    commands = dict.fromkeys(study.about["command"] for study in left)  # a command can make several studies
    foreign = [command for command in commands if not command.startswith(PROGRAM)]
    for k, command in enumerate(commands):
        print(f"{k + 1} of {len(commands)}: {command}", flush=True)
        if command in foreign:
            print(f"left out: {command!r} is not a command of this package, so `refresh` can't retrain its studies")
            continue
        words = shlex.split(command.partition(";")[0].removeprefix(PROGRAM))
        again = [sys.executable, "-m", "ablations", *(words or ["run"])]
        again += ["--out", str(out), "--workers", str(chosen.workers)]
        try:
            budget = None if end is None else max(0.0, end - time.monotonic())
            if subprocess.run(again, timeout=budget, check=False).returncode not in (0, 1):
                return 1
        except subprocess.TimeoutExpired:  # even a kill costs no finished job
            print(f"the budget is used up; {len(commands) - k} commands are left; run the same command to resume")
            return 1
    return int(bool(foreign))


def _seconds(budget: str) -> float:
    with suppress(ValueError):
        if (found := pd.Timedelta(budget).total_seconds()) >= 1:  # a number without a unit is in nanoseconds
            return found
    raise InputError(f"--budget must be a time such as 90m or 2h, not {budget!r}")


def _studies(chosen: Options) -> list[Study]:
    folder = RESULTS if chosen.from_results else chosen.out
    if not (paths := sorted(folder.glob(f"*{SUFFIX}"))):
        raise InputError(f"no run files (*{SUFFIX}) in {folder}")
    return [*map(load, paths)]
