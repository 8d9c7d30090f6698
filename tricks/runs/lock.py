"""One process at a time trains in a folder: a lock that ends with its process, however the process ends."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tricks.errors import InputError
from tricks.runs.files import HOST

NAME = ".lock"
FAR = 1 << 20  # Windows locks bytes, and locked bytes cannot be read: lock one far behind the text


@dataclass
class Held:
    """An open, locked file, and how many in this process hold it."""

    file: int
    holders: int = 0


_held: dict[Path, Held] = {}


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Keep other processes from training in the folder or saving to it; see `take`."""
    release = take(folder)
    try:
        yield
    finally:
        release()


def take(folder: Path) -> Callable[[], None]:
    """Lock the folder; returns a function that releases it. Within one process, any number may hold the lock.

    The system drops the lock of a process that ends, even if it is killed; the file `.lock` may stay behind and locks
    nothing. On file systems without locks, nothing is locked. Raises InputError, with the other's process id, if
    another process holds the lock, or if the folder cannot be written.
    """
    path = folder.resolve() / NAME
    if path not in _held:
        _held[path] = Held(_locked(path, folder))
    _held[path].holders += 1
    return partial(_release, path, os.getpid())


def _release(path: Path, process: int) -> None:
    if os.getpid() != process:  # a forked worker has a copy of everything, but not the lock
        return
    held = _held[path]
    held.holders -= 1
    if not held.holders:
        del _held[path]
        if sys.platform == "win32":  # which does not remove open files
            os.close(held.file)
        with contextlib.suppress(OSError):
            path.unlink()
        if sys.platform != "win32":
            os.close(held.file)


def _locked(path: Path, folder: Path) -> int:
    """The number of the open and locked file."""
    try:
        while True:
            file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
            try:
                _lock(file)
            except (BlockingIOError, PermissionError) as error:
                other = os.read(file, 200).decode(errors="replace").split("\n")[0]
                os.close(file)
                who = other or "another process"
                raise InputError(f"{folder} is in use: {who} is training in it") from error
            except OSError:  # a file system without locks
                pass
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), os.stat(path)):
                    break
            os.close(file)  # its owner removed it between our opening and locking it
        os.truncate(file, 0)
        os.write(file, f"process {os.getpid()} on {HOST}\n".encode())
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}") from error
    return file


def _lock(file: int) -> None:
    """Lock an open file for this process, or raise OSError."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(file, FAR, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        os.lseek(file, 0, os.SEEK_SET)
    else:
        import fcntl

        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # forked workers don't inherit it
