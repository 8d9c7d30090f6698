"""Results on disk: one CSV per job, whole or absent. If the file exists, the job is done.

The first line is `# {json}`: what was trained (config and tricks) and how (versions, commit, wall time). The file name
is a hash of what was trained, so any command that needs the same job finds its result.
"""

import contextlib
import hashlib
import itertools
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import psutil

from ablations.training import jobs
from ablations.training.jobs import Job, Result, parse_result
from ablations.training.makers import of_job
from ablations.training.score_index import Index, Stamp
from ablations.training.scores import Scored, scored
from tricks.errors import InputError
from tricks.runs.files import HOST, make_folder, partial_path, write_whole
from tricks.runs.provenance import of_another

LEFTOVER = re.compile(rf"\.(?:probe|.+\.(?:csv|gz|html|md|png|svg|txt))\.{re.escape(HOST)}\.(\d{{1,9}})", re.DOTALL)

YOUNGER = 20  # versions of a folder that was last used with a later library
LONGEST = 140  # bytes of a name: a file's may have 255, and suffixes, the machine and the process are added


class Store:
    """A folder of results, read-only if `look_only`. Raises InputError if it has to be writable and is not."""

    def __init__(self, folder: Path, look_only: bool = False) -> None:
        self.folder, self.look_only = folder, look_only
        self._index = Index(folder / "scores.sqlite", writable=not look_only)
        if look_only:  # the folder may not exist, and nothing in it changes
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            probe = partial_path(folder / "probe")
            probe.touch()
            probe.unlink()
            remove_partials(folder)
        except OSError as error:
            raise InputError(f"cannot write results to {folder}: {error.strerror}") from error

    def read(self, job: Job) -> Result | None:
        """The job's result, or None if there is none.

        A file that is damaged, or of a version whose files this one can't read, is renamed, reported, and counts as
        none. With `look_only`, it is neither renamed nor reported.
        Raises InputError if the file exists but cannot be read.
        """
        path, content = self._result(job), b""
        try:
            content = path.read_bytes()
            return parse_result(job, content.decode())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except ValueError as error:
            if self.look_only:
                return None
            stranger = of_another(str(path), of_job(content.decode(errors="replace")))
            aside = set_aside(path, "other-version" if stranger else "damaged")
            what = f"{stranger}, so it" if stranger else f"{path} is damaged and"
            print(f"{what} will be recomputed ({error}); kept as {aside.name}", file=sys.stderr)
            return None

    def scored(self, job: Job) -> Scored | None:
        """The scores of what `read` says. A result is read once, as long as its file stays as it is."""
        key = job.key
        if (stamp := self._stamp(key)) is None:
            return None
        found = self._index.get(key, stamp)
        if found is None and (result := self.read(job)):
            found = scored(result, job.config.steps)
            self._index.put(key, stamp, found)
        return found

    def has(self, job: Job) -> bool:
        """Whether the job has a whole result."""
        stamp = self._stamp(job.key)
        return stamp is not None and (self._index.has(job.key, stamp) or self.scored(job) is not None)

    def other_algorithm(self, job: Job) -> int | None:
        """The `ALGORITHM` of a stored result of this job, if it is by another than this library's."""
        now = jobs.ALGORITHM
        numbers = (k for k in range(now + YOUNGER) if k != now)
        return next((k for k in numbers if self._stamp(job.key_by(k)) is not None), None)

    def put(self, job: Job, text: str) -> None:
        """Write the text of a result atomically: readers see the whole file or none, even after a crash."""
        write_whole(self._result(job), text)
        stale = self._error(job)
        try:
            stale.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"cannot remove {stale}: {error.strerror}") from error

    def fail(self, job: Job, error: str) -> None:
        """Record why a job failed. The next run tries it again."""
        write_whole(self._error(job), error)

    def _stamp(self, key: str) -> Stamp | None:
        """Size and time of the job's file; None if there is none. Raises InputError if that cannot be known."""
        try:
            about = os.stat(f"{self.folder}/{key}.csv")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"cannot read {self.folder / key}.csv: {error.strerror}") from error
        return about.st_size, about.st_mtime_ns

    def _result(self, job: Job) -> Path:
        return self.folder / f"{job.key}.csv"

    def _error(self, job: Job) -> Path:
        return self.folder / f"{job.key}.error.txt"


def name_of(*parts: str, first: int) -> str:
    """Join the parts that are not empty, and the first seed if it is not 0: `ladder_CartPole-v1_from10`.

    The end of a name that is too long for a file is replaced by a hash of all of it.
    """
    name = "_".join(filter(None, parts))
    if len(name.encode()) > LONGEST:
        start = name.encode()[: LONGEST - 17].decode(errors="ignore")
        name = f"{start}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return name + (f"_from{first}" if first else "")


def digest(question: Any) -> str:
    """Eight digits that tell a question from others in the name of its folder. question: as plain values."""
    return hashlib.sha256(json.dumps(question, sort_keys=True, default=str).encode()).hexdigest()[:8]


def as_file_name(text: str) -> str:
    """The text with `_` for whatever a file's name should not have."""
    return "".join(c if c.isalnum() or c in "._+-=," else "_" for c in text)


def prepare(out: Path) -> None:
    """Make a folder for results, and remove what killed writers left half-written in it and in its own folders.

    Raises InputError if the folder cannot be made.
    """
    make_folder(out)
    with contextlib.suppress(OSError):  # a folder that cannot be read is no reason to stop
        for folder in (out, *(path for path in out.iterdir() if path.is_dir() and not path.is_symlink())):
            remove_partials(folder)


def remove_partials(folder: Path) -> None:
    """Remove the half-written files, in this very folder, of writers on this machine that were killed."""
    for path in folder.iterdir():
        found = LEFTOVER.fullmatch(path.name)
        if found and not psutil.pid_exists(int(found[1])) and path.is_file() and not path.is_symlink():
            with contextlib.suppress(OSError):  # another user's
                path.unlink()


def set_aside(path: Path, why: str) -> Path:
    """Rename a file to the first free one of .<why>, .<why>2, ... Raises InputError if that fails."""
    names = (path.with_suffix(f".{why}{count if count > 1 else ''}") for count in itertools.count(1))
    aside = next(name for name in names if not name.exists())
    try:
        os.replace(path, aside)
    except FileNotFoundError:  # another process renamed it first
        pass
    except OSError as error:
        raise InputError(f"cannot rename {path}: {error.strerror}") from error
    return aside
