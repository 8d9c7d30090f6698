"""One process at a time trains in a folder: a lock that ends with its process, however the process ends."""

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from tricks.errors import InputError
from tricks.runs.files import HOST

NAME = ".lock"
LOCKLESS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # of file systems without locks


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
    lock = FileLock(path, timeout=0, thread_local=False, is_singleton=True, on_acquired=_sign)
    try:
        lock.acquire()
    except Timeout as error:
        raise InputError(f"{folder} is in use: {_holder(path)} is training in it") from error
    except OSError as error:
        if error.errno not in LOCKLESS:
            raise InputError(f"cannot write to {folder}: {error.strerror}") from error
    return partial(_release, lock, path, os.getpid())


def _release(lock: FileLock, path: Path, process: int) -> None:
    if os.getpid() != process:  # a forked worker has a copy of everything, but not the lock
        return
    if lock.lock_counter <= 1 and sys.platform != "win32":  # elsewhere, filelock leaves the file
        with contextlib.suppress(OSError):
            path.unlink()
    lock.release()


def _sign(file: int) -> None:
    """Write into a lock's file whose it is, after the first byte: Windows lets nobody else read that one."""
    os.truncate(file, 0)
    os.write(file, f"\nprocess {os.getpid()} on {HOST}\n".encode())


def _holder(path: Path) -> str:
    with contextlib.suppress(OSError), path.open("rb", buffering=0) as file:
        file.seek(1)
        return file.read(200).decode(errors="replace").split("\n")[0] or "another process"
    return "another process"
