"""The scores of many finished jobs in one file, so that a folder of results is read once and not by every command.

The first LATEST results that a command reads stay in memory, so a small folder has no such file. Larger ones get
`scores.sqlite`. It can be removed at any time: everything in it is also in the results.
"""

import contextlib
import hashlib
import inspect
import json
import sqlite3
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from ablations.training import scores
from ablations.training.scores import POINTS, Scored
from tricks.runs import learning_curve

LATEST = 1000  # results in memory; reading as many takes some seconds
PACKING = 1  # counts the ways in which `_packed` has written scores
CODE = inspect.getsource(scores) + inspect.getsource(learning_curve)  # scores that other code made don't count
TABLE = f"scores_{hashlib.sha256(CODE.encode()).hexdigest()[:16]}_{PACKING}"
Stamp = tuple[int, int]  # size and time of a result's file


class Index:
    """Scores by the key of their job, valid as long as the job's file has the same stamp.

    Without a path, it knows only which results were read. A file that cannot be used is done without.
    """

    def __init__(self, path: Path | None, writable: bool = True) -> None:
        self._path, self._writable = path, writable
        self._latest: dict[str, tuple[Stamp, Scored | None]] = {}
        self._disk = self._opened() if path is not None and path.exists() else None

    def has(self, key: str, stamp: Stamp) -> bool:
        """Whether the result was read when its file had this stamp."""
        if key in self._latest:
            return self._latest[key][0] == stamp
        return self._row("size, time", key) == stamp

    def get(self, key: str, stamp: Stamp) -> Scored | None:
        """The scores of the result; None if it has to be read."""
        if key in self._latest:
            then, found = self._latest[key]
            return found if then == stamp else None
        size, time, text, numbers, checksum = self._row("*", key)[1:] or (0, 0, "", b"", b"")
        return _unpacked(text, numbers) if (size, time) == stamp and checksum == _sum(key, text, numbers) else None

    def put(self, key: str, stamp: Stamp, found: Scored) -> None:
        """Keep the scores of a result. Of those that may not be written, only the stamp is kept."""
        self._latest[key] = stamp, (found if self._writable else None)
        if self._writable and len(self._latest) >= LATEST:
            self._flush()

    def _flush(self) -> None:
        """Move what is in memory to the disk, in one transaction; it stays in memory if that fails."""
        self._disk = self._disk or self._opened()
        if self._disk is None:
            return
        rows = [
            (key, *stamp, text, numbers, _sum(key, text, numbers))
            for key, (stamp, found) in self._latest.items()
            if found is not None
            for text, numbers in [_packed(found)]
        ]
        with contextlib.suppress(sqlite3.Error):  # full, locked, ...
            with self._disk:
                self._disk.executemany(f"INSERT OR REPLACE INTO {TABLE} VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._latest.clear()

    def _row(self, columns: str, key: str) -> tuple[Any, ...]:
        """The columns of a key's row, or nothing."""
        if self._disk is None:
            return ()
        try:
            return self._disk.execute(f"SELECT {columns} FROM {TABLE} WHERE key = ?", (key,)).fetchone() or ()
        except sqlite3.Error:
            return ()

    def _opened(self) -> sqlite3.Connection | None:
        """The file, made if it is missing and made again if it is damaged; None if that fails."""
        assert self._path is not None
        for _ in range(2):
            try:
                return self._connected(self._path)
            except sqlite3.OperationalError:  # it cannot be opened, or another process holds it
                return None
            except sqlite3.DatabaseError:
                if not self._writable:
                    return None
                with contextlib.suppress(OSError):
                    self._path.unlink()
        return None

    def _connected(self, path: Path) -> sqlite3.Connection:
        mode = "rwc" if self._writable else "ro"
        disk = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True)
        weakref.finalize(self, disk.close)
        columns = "key TEXT PRIMARY KEY, size INTEGER, time INTEGER, about TEXT, numbers BLOB, checksum BLOB"
        if self._writable:
            with disk:
                disk.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} ({columns})")
        disk.execute(f"SELECT key FROM {TABLE} LIMIT 1")
        return disk


def _packed(found: Scored) -> tuple[str, bytes]:
    about: dict[str, Any] = {"seeds": found.seeds, "diverged": list(found.diverged.items())}
    about |= {"seconds": found.seconds, "steps": found.steps, "made with": dict(found.made_with)}
    return json.dumps(about), np.column_stack([found.grid, found.late]).tobytes()


def _unpacked(text: str, numbers: bytes) -> Scored:
    about, each = json.loads(text), np.frombuffer(numbers).reshape(-1, POINTS + 1)
    diverged = dict(about["diverged"])
    seeds, made_with = tuple(about["seeds"]), about["made with"]
    return Scored(seeds, each[:, :-1], each[:, -1], diverged, about["seconds"], about["steps"], made_with)


def _sum(key: str, text: str, numbers: bytes) -> bytes:
    return hashlib.sha256(f"{key}{text}".encode() + numbers).digest()
