"""Finished jobs in one SQLite file. A job is a transaction, so it is whole or absent, whatever is killed and whenever.

A row holds what was trained, how it was made, the learning curve, and the scores that were made from that, so a command
that needs scores of thousands of jobs reads no curve. Its key is a hash of what was trained.
"""

import contextlib
import hashlib
import inspect
import io
import itertools
import json
import os
import re
import sqlite3
import sys
import zlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from ablations.training import scores
from ablations.training.jobs import Job, Result
from ablations.training.scores import POINTS, Scored, scored
from tricks.errors import InputError
from tricks.runs import learning_curve
from tricks.runs.files import HOST, make_folder, trying
from tricks.runs.learning_curve import COUNTS, read_table
from tricks.version import ALGORITHM

JOBS = "jobs.sqlite"
COLUMNS = "key TEXT PRIMARY KEY, what TEXT, about TEXT, curve BLOB, scoring TEXT, scores BLOB, checksum BLOB"
SCORING = hashlib.sha256((inspect.getsource(scores) + inspect.getsource(learning_curve)).encode()).hexdigest()[:16]
PATIENCE = 60.0  # seconds to wait for another process that writes
REMEDY = "if this persists, move the file away and its jobs will be retrained"
LEFTOVER = re.compile(rf"\..+\.(?:csv|gz|html|md|png|svg|txt)\.{re.escape(HOST)}\.(\d{{1,9}})", re.DOTALL)
Claim = tuple[str, int, int]  # a question's digest, the first of its seeds, and how many it may need
LONGEST = 140  # bytes of a name: a file's may have 255, and suffixes, the machine and the process are added


class Store:
    """The jobs of a folder, read-only if `look_only`. Raises InputError if it has to be writable and is not."""

    def __init__(self, folder: Path, look_only: bool = False) -> None:
        self.path, self.look_only = folder / JOBS, look_only
        if not look_only:
            prepare(folder)

    @cached_property
    def _disk(self) -> sqlite3.Connection:
        """The file, made if it is missing; looking makes none.

        Looking opens it for writing, too, where it may: what a killed writer had begun has to be undone first.
        """
        try:
            absent = self.look_only and not self.path.exists()
            disk = sqlite3.connect(":memory:" if absent else self.path, timeout=PATIENCE)
            if absent or not self.look_only:
                with disk:
                    disk.execute(f"CREATE TABLE IF NOT EXISTS jobs ({COLUMNS})")
            disk.execute("SELECT key, what, about, curve, scoring, scores, checksum FROM jobs LIMIT 1")
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise InputError(f"cannot read {self.path}: {error}; {REMEDY}") from error
        disk.text_factory = lambda raw: raw.decode(errors="replace")  # of a damaged row, whose checksum tells
        return disk

    def read(self, job: Job) -> Result | None:
        """The job's result, or None if there is none. One that was damaged is reported, and counts as none."""
        return _result(row) if (row := self._row(job)) else None

    def scored(self, job: Job) -> Scored | None:
        if not (row := self._row(job)):
            return None
        if row["scoring"] != SCORING:  # other code made them
            return scored(_result(row), job.config.steps)
        about, each = json.loads(row["about"]), np.frombuffer(row["scores"]).reshape(-1, POINTS + 1)
        return Scored(tuple(sorted(job.config.seed_list)), each[:, :-1], each[:, -1], *_facts(about))

    def has(self, job: Job) -> bool:
        return self._row(job) is not None

    def by_other_algorithms(self) -> int:
        mine = f'{{"algorithm": {ALGORITHM},%'
        return int(self._asked("SELECT COUNT(*) FROM jobs WHERE what NOT LIKE ?", mine)[0])

    def put(self, job: Job, result: Result) -> None:
        """Keep a result. Raises InputError if the disk is full, or if another process never stops writing."""
        with self._writing() as disk:
            disk.execute(f"INSERT OR REPLACE INTO jobs VALUES ({','.join('?' * 7)})", _packed(job, result))

    @contextlib.contextmanager
    def claims(self) -> Iterator[set[Claim]]:
        """What questions have claimed. What is added is kept, and no other process claims anything meanwhile."""
        with self._writing() as disk:
            disk.execute("BEGIN IMMEDIATE")
            disk.execute("CREATE TABLE IF NOT EXISTS claims (question, first, count, UNIQUE (question, first, count))")
            yield (found := {*disk.execute("SELECT * FROM claims")})
            disk.executemany("INSERT OR IGNORE INTO claims VALUES (?, ?, ?)", found)

    def _row(self, job: Job) -> dict[str, Any] | None:
        if not (found := self._asked("SELECT * FROM jobs WHERE key = ?", job.key)):
            return None
        row = dict(zip(("what", "about", "curve", "scoring", "scores"), found[1:-1], strict=True))
        if found[-1] == _checksum(job.key, row):
            return row
        if not self.look_only:
            print(f"a job in {self.path} is damaged, so it will be retrained: {job.key}", file=sys.stderr)
            with self._writing() as disk:
                disk.execute("DELETE FROM jobs WHERE key = ?", (job.key,))
        return None

    def _asked(self, command: str, *values: Any) -> tuple[Any, ...]:
        try:
            return self._disk.execute(command, values).fetchone() or ()
        except sqlite3.Error as error:
            raise InputError(f"cannot read {self.path}: {error}; {REMEDY}") from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._disk:
                yield self._disk
        except sqlite3.Error as error:
            raise InputError(f"cannot write {self.path}: {error}") from error


def _packed(job: Job, result: Result) -> tuple[Any, ...]:
    """The row of a result. Its scores are made from the curve as it will be read back."""
    text = result.curve.to_csv(index=False, float_format="%.6g")
    about = {"diverged": [*result.diverged.items()], "seconds": result.seconds, "steps": result.steps}
    about |= {"made with": result.made_with}
    row = {"what": json.dumps(job.what), "about": json.dumps(about), "curve": zlib.compress(text.encode())}
    own = scored(_result(row), job.config.steps)
    row |= {"scoring": SCORING, "scores": np.column_stack([own.grid, own.late]).tobytes()}
    return (job.key, *row.values(), _checksum(job.key, row))


def _result(row: Mapping[str, Any]) -> Result:
    curve = read_table(io.StringIO(zlib.decompress(row["curve"]).decode()))
    floats = {name: float for name in curve if name not in COUNTS}
    return Result(curve.astype(floats), *_facts(json.loads(row["about"])))


def _facts(about: Mapping[str, Any]) -> tuple[Any, ...]:
    return dict(about["diverged"]), about["seconds"], about["steps"], about["made with"]


def _checksum(key: str, row: Mapping[str, Any]) -> bytes:
    parts = (part if isinstance(part, bytes) else str(part).encode() for part in (key, *row.values()))
    return hashlib.sha256(b"\0".join(parts)).digest()


def name_of(*parts: str, first: int) -> str:
    """Join what is not empty, and the first seed if it is not 0: `ladder_CartPole-v1_from10`. A long end is hashed."""
    name = "_".join(filter(None, parts))
    if len(name.encode()) > LONGEST:
        start = name.encode()[: LONGEST - 17].decode(errors="ignore")
        name = f"{start}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return name + f"_from{first}" * bool(first)


def digest(question: Any) -> str:
    """Eight digits that tell a question from others in the name of its folder. question: as plain values."""
    return hashlib.sha256(json.dumps(question, sort_keys=True, default=str).encode()).hexdigest()[:8]


def as_file_name(text: str) -> str:
    """The text with `_` for whatever a file's name should not have."""
    return "".join(c if c.isalnum() or c in "._+-=," else "_" for c in text)


def prepare(out: Path) -> None:
    """Make a folder for results, and remove what killed writers left half-written in it and in its folders."""
    make_folder(out)
    with contextlib.suppress(OSError):  # a folder that cannot be read is no reason to stop, nor is another user's file
        for path in (*out.glob(".*"), *out.glob("*/.*")):
            found = LEFTOVER.fullmatch(path.name)
            if found and not psutil.pid_exists(int(found[1])) and path.is_file() and not path.is_symlink():
                path.unlink()


def set_aside(path: Path, why: str) -> Path:
    """Rename a file to the first free one of .<why>, .<why>2, ... Raises InputError if that fails."""
    names = (path.with_suffix(f".{why}{count if count > 1 else ''}") for count in itertools.count(1))
    aside = next(name for name in names if not name.exists())
    with trying(f"rename {path}"), contextlib.suppress(FileNotFoundError):  # another process may rename it first
        os.replace(path, aside)
    return aside
