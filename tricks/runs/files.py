"""A run's folder: files are written whole, a finished run gets in whole or not at all, and one process trains in it."""

import errno
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from tricks.errors import InputError

HOST = platform.node()
LAST = "last.pt"  # the state at the end of a run: from it, the training can go on
RUN = (LAST, "agent.pt", "curve.csv", "run.json")  # a finished run; the last one completes it
CHECKPOINT = "checkpoint.pt"  # an unfinished one
PICTURE = "curve.png"
SAVED = ".saved"  # a finished run on its way into the folder
LOCK = ".lock"
LOCKLESS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # of file systems without locks


@contextmanager
def trying(to: str) -> Iterator[None]:
    """Turn an OSError into an InputError: `cannot write x: No space left on device`."""
    try:
        yield
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(f"cannot {to}: a file is in its place") from error
    except OSError as error:
        raise InputError(f"cannot {to}: {error.strerror}") from error


def as_path(path: str | Path) -> Path:
    """The path with `~` replaced by the home directory. Raises InputError for what cannot be a path."""
    if not str(path) or "\0" in str(path):
        raise InputError(f"a folder or file is named by a str or a Path, not {path!r}")
    try:
        expanded = Path(path).expanduser()
    except RuntimeError as error:
        raise InputError(f"cannot expand the ~ in {path}: {error}") from error
    with trying(f"use the path {path}"), suppress(FileNotFoundError, NotADirectoryError):
        expanded.stat()
    return expanded


def make_folder(folder: Path) -> list[Path]:
    """Make the folder and its parents. Returns those that are new, innermost first. Raises InputError."""
    with trying(f"make the folder {folder}"):
        new = [each for each in (folder, *folder.parents) if not each.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    return new


def partial_path(path: Path) -> Path:
    """The temporary file next to `path`, named after its writer: its machine and its process."""
    return path.with_name(f".{path.name}.{HOST}.{os.getpid()}")


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically, whoever else writes it: after a kill, it is old or new. Raises InputError."""
    part = partial_path(path)
    with trying(f"write {path}"):
        try:
            with part.open("wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        finally:
            with suppress(OSError):  # after success there is nothing to remove
                part.unlink()


def found(folder: Path, name: str) -> Path:
    """Where a file of the finished run is: in the folder, or on its way into it if a save was killed."""
    arriving = folder / SAVED / name
    return arriving if arriving.is_file() else folder / name


def finished(folder: Path) -> bool:
    """Whether the folder holds a finished run."""
    return found(folder, "run.json").is_file()


def opened(folder: Path, overwrite: bool = False) -> ExitStack:
    """Make the folder if need be, and lock it, until the result is closed. New folders that then are empty are removed.

    Raises InputError if it is in use, cannot be written, which is tried, or holds a finished run without `overwrite`.
    """

    def remove_empty() -> None:
        with suppress(OSError):
            for each in new:
                each.rmdir()

    new = make_folder(folder)
    with ExitStack() as stack:
        stack.callback(remove_empty)
        stack.enter_context(hold(folder))
        clear(folder)
        if finished(folder) and not overwrite:
            raise InputError(f"{folder} holds a finished run; add --overwrite to replace it (overwrite=True in Python)")
        with trying(f"write to {folder}"), tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(4096))
            probe.flush()
            os.fsync(probe.fileno())
        for name in (*RUN, CHECKPOINT, PICTURE):
            if (folder / name).is_dir():
                raise InputError(f"cannot write {folder / name}: Is a directory")
        return stack.pop_all()


def put(folder: Path, files: Mapping[str, bytes], overwrite: bool) -> None:
    """Write a finished run to the folder, and remove its checkpoint. Saving the same run again changes nothing.

    The files are written to a hidden subfolder, whose renaming makes them the folder's run; see `found` and `clear`.
    """
    with suppress(OSError):
        overwrite |= all(found(folder, name).read_bytes() == files[name] for name in ("agent.pt", "curve.csv"))
    with opened(folder, overwrite), trying(f"write to {folder}"):
        part = partial_path(folder / SAVED)
        try:
            part.mkdir()
            for name, content in files.items():
                write_whole(part / name, content)
            part.rename(folder / SAVED)
        finally:
            shutil.rmtree(part, ignore_errors=True)  # after success there is nothing to remove
        clear(folder)
        if LAST not in files:  # the one there is of an earlier run; should it stay, nothing else fits it
            (folder / LAST).unlink(missing_ok=True)


def clear(folder: Path) -> None:
    """Complete a save, and sweep up what killed writers of this machine left. For the holder of the folder's lock."""
    arriving = folder / SAVED
    with trying(f"write to {folder}"):
        if arriving.is_dir() and not arriving.is_symlink():
            for name in RUN:
                with suppress(FileNotFoundError):  # moved before the kill
                    os.replace(arriving / name, folder / name)
            for name in (CHECKPOINT, PICTURE):  # of the training that has now ended, and of an earlier run
                (folder / name).unlink(missing_ok=True)
            arriving.rmdir()
        for path in folder.iterdir():
            writer = re.fullmatch(rf"\..+\.{re.escape(HOST)}\.(\d{{1,9}})", path.name)
            # the sweeper itself is not writing: what has its own id, another process wrote before
            if writer and (int(writer[1]) == os.getpid() or not psutil.pid_exists(int(writer[1]))):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def clean_up(folder: Path) -> None:
    """`clear` a folder that is only read; one that is in use or read-only stays as it is."""
    if folder.is_dir():
        with suppress(InputError), hold(folder):
            clear(folder)


def hold(folder: Path) -> ExitStack:
    """Keep other processes from training in the folder or saving to it, until the result is closed.

    Any number of holders in this process share the lock. After a kill, the file `.lock` stays and locks nothing.
    """
    path, stack = folder.resolve() / LOCK, ExitStack()
    lock = FileLock(path, timeout=0, thread_local=False, is_singleton=True, on_acquired=_sign)

    def release() -> None:
        if lock.lock_counter == 1 and sys.platform != "win32":  # elsewhere, filelock leaves the file
            with suppress(OSError):
                path.unlink()
        lock.release()  # of a forked worker's copy, which holds nothing, too

    with trying(f"write to {folder}"):
        try:
            lock.acquire()
        except Timeout as error:
            who = "another process"
            with suppress(OSError):  # Windows lets nobody else read it
                who = path.read_text(encoding="utf-8", errors="replace")[:200].strip() or who
            raise InputError(f"{folder} is in use: {who} is training in it") from error
        except OSError as error:
            if error.errno not in LOCKLESS:
                raise
            with suppress(OSError):
                path.unlink()
    stack.callback(release)
    return stack


def _sign(file: int) -> None:
    os.truncate(file, 0)
    os.write(file, f"process {os.getpid()} on {HOST}".encode())
