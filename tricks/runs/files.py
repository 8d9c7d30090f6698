"""Write a run's folders and files; failures become one-line errors."""

import contextlib
import os
from pathlib import Path

from tricks.errors import InputError


def make_folder(folder: Path) -> None:
    """Make the folder and its parents. Raises InputError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}") from error


def write_whole(path: Path, content: str | bytes, part: Path | None = None) -> None:
    """Write a file atomically: if the process is killed, the file is either the old or the new one.

    The content goes to the temporary file `part`, which then replaces `path`. Raises InputError if that fails.
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
        with contextlib.suppress(OSError):  # after success there is nothing to remove
            part.unlink()


def partial(path: Path) -> Path:
    """The temporary file next to `path`, for a single writer."""
    return path.with_name(f".{path.name}.partial")
