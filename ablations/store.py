"""Results on disk: one CSV per job, whole or absent. That the file exists means that the job is done.

The first line is `# {json}`: what was trained (config and tricks) and how (versions, commit, wall time). The name
is a hash of what was trained, so the same job finds its result again whatever asked for it.
"""

import hashlib
import io
import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from tricks import Config, Run, Tricks
from tricks.core.errors import InputError
from tricks.core.log import COLUMNS

ALGORITHM = 2  # raise it when a change of the library changes curves: old results then no longer count


@dataclass(frozen=True)
class Job:
    """One training run: a stack of seeds with the same numbers and flags."""

    config: Config
    tricks: Tricks

    @property
    def what(self) -> dict[str, Any]:
        """Everything that the curve depends on, as plain values."""
        config = asdict(self.config) | {"seeds": list(self.config.seed_list), "hidden": list(self.config.hidden)}
        return {"algorithm": ALGORITHM, "config": config, "tricks": list(self.tricks.on)}

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(self.what, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Result:
    """A finished job: its learning curve, and about it the first line of its file."""

    curve: pd.DataFrame
    about: dict[str, Any]


class Store:
    """A folder of results. Raises InputError if it cannot be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise InputError(f"cannot write results to {folder}: {error.strerror}") from error

    def read(self, job: Job) -> Result | None:
        """The job's result, or None if there is none. A damaged file is set aside, named, and counts as none."""
        path = self.folder / f"{job.key}.csv"
        if not path.exists():
            return None
        try:
            first, _, rest = path.read_text(encoding="utf-8").partition("\n")
            about = json.loads(first.removeprefix("# "))
            curve = pd.read_csv(io.StringIO(rest))
            told = {"diverged", "seconds", "steps"} <= set(about) and tuple(curve) == COLUMNS
            if about["what"] != job.what or len(curve) != about["rows"] or not told:
                raise ValueError("it does not belong to this job, or rows are missing")
            return Result(curve, about)
        except (ValueError, KeyError, TypeError, OSError) as error:
            aside = path.with_suffix(".damaged")
            os.replace(path, aside)
            print(f"{path} is damaged and will be made again ({error}); kept as {aside.name}")
            return None

    def write(self, job: Job, run: Run, seconds: float) -> None:
        """Write the result in one piece: a reader, or a crash, sees the whole file or none."""
        about = {
            "what": job.what,
            "rows": len(run.curve),
            "diverged": list(run.diverged.items()),
            "seconds": round(seconds, 2),
            "steps": int(run.curve.groupby("seed").step.max().sum()),
            **provenance(),
        }
        text = f"# {json.dumps(about)}\n" + run.curve.to_csv(index=False, float_format="%.6g")
        write_whole(self.folder / f"{job.key}.csv", text)
        self._error(job).unlink(missing_ok=True)

    def fail(self, job: Job, error: str) -> None:
        """Keep the reason why a job failed; it is tried again the next time."""
        write_whole(self._error(job), error)

    def _error(self, job: Job) -> Path:
        return self.folder / f"{job.key}.error.txt"


def write_whole(path: Path, text: str) -> None:
    """Write to a temporary file, flush it to the disk, and put it in place. Raises InputError if that fails."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror}") from error


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
