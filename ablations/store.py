"""Results on disk: one CSV per job, whole or absent. That the file exists means that the job is done.

The first line is `# {json}`: what was trained (config and tricks) and how (versions, commit, wall time). The name
is a hash of what was trained, so the same job finds its result again whatever asked for it.
"""

import contextlib
import hashlib
import io
import itertools
import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from tricks import Config, Run, Tricks
from tricks.core import files
from tricks.core.errors import InputError
from tricks.core.log import COLUMNS

HOST = platform.node()
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


class Store:
    """A folder of results, to look at only or to write, too. Raises InputError if it has to be written and cannot."""

    def __init__(self, folder: Path, look_only: bool = False) -> None:
        self.folder, self.look_only = folder, look_only
        if look_only:  # it need not exist, and nothing in it changes
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            probe = _partial(folder / "probe")
            probe.touch()
            probe.unlink()
            _sweep(folder)
        except OSError as error:
            raise InputError(f"cannot write results to {folder}: {error.strerror}") from error

    def read(self, job: Job) -> Result | None:
        """The job's result, or None if there is none. A damaged file is set aside, named, and counts as none.

        Who only looks leaves it where it is, without a word.
        Raises InputError if the file is there but cannot be read.
        """
        path = self._result(job)
        try:
            return parse(job, path.read_bytes().decode())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except ValueError as error:
            if self.look_only:
                return None
            aside = _set_aside(path)
            print(f"{path} is damaged and will be made again ({error}); kept as {aside.name}", file=sys.stderr)
            return None

    def put(self, job: Job, text: str) -> None:
        """Write the text of a result in one piece: a reader, or a crash, sees the whole file or none."""
        write_whole(self._result(job), text)
        stale = self._error(job)
        try:
            stale.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"cannot remove {stale}: {error.strerror}") from error

    def fail(self, job: Job, error: str) -> None:
        """Keep the reason why a job failed; it is tried again the next time."""
        write_whole(self._error(job), error)

    def _result(self, job: Job) -> Path:
        return self.folder / f"{job.key}.csv"

    def _error(self, job: Job) -> Path:
        return self.folder / f"{job.key}.error.txt"


def as_text(job: Job, run: Run, seconds: float) -> str:
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


def parse(job: Job, text: str) -> Result:
    """What `as_text` wrote. Raises ValueError, in one line, if it is not all there or another job's."""
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


def write_whole(path: Path, content: str | bytes) -> None:
    """As `files.write_whole`, where there are several writers."""
    files.write_whole(path, content, _partial(path))


def _partial(path: Path) -> Path:
    """The temporary file, named for its writer: machine (folders can be shared) and process."""
    return path.with_name(f".{path.name}.{HOST}.{os.getpid()}")


def _sweep(folder: Path) -> None:
    """Remove what writers on this machine left half-written when they were killed."""
    for path in folder.iterdir():
        found = re.fullmatch(rf"\..+\.{re.escape(HOST)}\.(\d{{1,9}})", path.name)
        if found and not _alive(int(found[1])):
            path.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 is not a question
        return True
    with contextlib.suppress(PermissionError):  # another user's
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
    return True


def _set_aside(path: Path) -> Path:
    """Rename to the first of .damaged, .damaged2, ... that is free. Raises InputError if that fails."""
    names = (path.with_suffix(f".damaged{count if count > 1 else ''}") for count in itertools.count(1))
    aside = next(name for name in names if not name.exists())
    try:
        os.replace(path, aside)
    except FileNotFoundError:  # another process that read it was faster
        pass
    except OSError as error:
        raise InputError(f"cannot set the damaged {path} aside: {error.strerror}") from error
    return aside


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
