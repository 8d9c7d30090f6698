"""The folder of a run. A finished run gets into it whole or not at all."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tricks.errors import InputError
from tricks.runs.files import make_folder, partial_path, probe, remove_empty, remove_partials, sync, write_whole
from tricks.runs.lock import hold

LAST = "last.pt"  # the state at the end of a run: from it, the training can go on
RUN = (LAST, "agent.pt", "curve.csv", "run.json")  # a finished run; the last one completes it
CHECKPOINT = "checkpoint.pt"  # an unfinished one
PICTURE = "curve.png"
SAVED = ".saved"  # a finished run on its way into the folder


def found(folder: Path, name: str) -> Path:
    """Where a file of the finished run is: in the folder, or on its way into it if a save was killed."""
    arriving = folder / SAVED / name
    return arriving if arriving.is_file() else folder / name


def finished(folder: Path) -> bool:
    """Whether the folder holds a finished run."""
    return found(folder, "run.json").is_file()


@contextmanager
def opened(folder: Path, overwrite: bool = False) -> Iterator[list[Path]]:
    """Lock the folder, which is made if it doesn't exist, for a training that writes to it.

    Yields the folders that are new. Those that are still empty at the end are removed.
    Raises InputError if another process trains in it, if it holds a finished run and `overwrite` is off, or if it
    cannot be written.
    """
    new = make_folder(folder)
    try:
        with hold(folder):
            complete_save(folder)
            if not overwrite:
                refuse_finished(folder)
            probe(folder)
            for name in (*RUN, CHECKPOINT, PICTURE):
                if (folder / name).is_dir():
                    raise InputError(f"cannot write {folder / name}: Is a directory")
            yield new
    finally:
        remove_empty(new)


def refuse_finished(folder: Path) -> None:
    """Raise InputError if the folder holds a finished run."""
    if finished(folder):
        raise InputError(f"{folder} holds a finished run; add --overwrite to replace it (overwrite=True in Python)")


def put(folder: Path, files: Mapping[str, bytes], overwrite: bool) -> None:
    """Write a finished run to the folder, and remove its checkpoint. Saving the same run again changes nothing.

    The files are written to a hidden subfolder, and one rename of that subfolder makes them the folder's run. After it,
    they only have to be moved to their places; if a kill prevents that, `found` finds them, and `complete_save` moves
    them.
    Raises InputError as `opened` does.
    """
    with opened(folder, overwrite or _same(folder, files)):
        part = partial_path(folder / SAVED)
        try:
            part.mkdir()
            for name, content in files.items():
                write_whole(part / name, content)
            sync(part)
            part.rename(folder / SAVED)
            sync(folder)
        except OSError as error:
            raise InputError(f"cannot write to {folder}: {error.strerror}") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)  # after success there is nothing to remove
        complete_save(folder)
        if LAST not in files:  # the one there is of an earlier run; should it stay, nothing else fits it
            with contextlib.suppress(OSError):
                (folder / LAST).unlink()


def complete_save(folder: Path) -> None:
    """Complete a save and sweep up what a kill left in the folder. For the holder of its lock.

    Raises InputError if the folder cannot be written.
    """
    arriving = folder / SAVED
    try:
        if arriving.is_dir() and not arriving.is_symlink():
            for name in RUN:
                with contextlib.suppress(FileNotFoundError):  # moved before the kill
                    os.replace(arriving / name, folder / name)
            for name in (CHECKPOINT, PICTURE):  # of the training that has now ended, and of an earlier run
                (folder / name).unlink(missing_ok=True)
            arriving.rmdir()
        remove_partials(folder)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}") from error


def clean_up(folder: Path) -> None:
    """`complete_save` a folder that is only read; one that is in use or read-only stays as it is."""
    if folder.is_dir():
        with contextlib.suppress(InputError), hold(folder):
            complete_save(folder)


def _same(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Whether the folder's run has this agent and this curve."""
    with contextlib.suppress(OSError):
        return all(found(folder, name).read_bytes() == files[name] for name in ("agent.pt", "curve.csv"))
    return False
