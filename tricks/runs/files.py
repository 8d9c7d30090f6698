"""Folders and files of a run; what cannot be written is one clear line."""

import contextlib
import os
from pathlib import Path

from tricks.errors import InputError


def make_folder(folder: Path) -> None:
    """Make the folder and its parents. Raises InputError if that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}") from error


def write_whole(path: Path, content: str | bytes, part: Path | None = None) -> None:
    """Write to the temporary file `part`, flush it to the disk, put it in place: a kill leaves the old file or the new.

    Raises InputError if that fails.
    """
    part = part or partial(path)
    try:
        with part.open("wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):  # after success it is gone
            part.unlink()


def partial(path: Path) -> Path:
    """The temporary file, where there is one writer."""
    return path.with_name(f".{path.name}.partial")
