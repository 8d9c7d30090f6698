"""Write a run's folders and files; failures become one-line errors."""

import contextlib
import os
import platform
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tricks.errors import InputError

HOST = platform.node()


def as_path(path: str | Path) -> Path:
    """The path with `~` replaced by the home directory.

    Raises InputError if it cannot be a path: no str or Path, too long, or in a folder that may not be read.
    """
    if not isinstance(path, str | os.PathLike) or not str(path) or "\0" in str(path):
        raise InputError(f"a folder or file is named by a str or a Path, not {path!r}")
    try:
        expanded = Path(path).expanduser()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.stat(expanded)
    except RuntimeError as error:
        raise InputError(f"cannot expand the ~ in {path}: {error}") from error
    except OSError as error:
        raise InputError(f"cannot use the path {path}: {error.strerror}") from error
    return expanded


def make_folder(folder: Path) -> list[Path]:
    """Make the folder and its parents. Returns those that are new, innermost first. Raises InputError if that fails."""
    try:
        new = [each for each in (folder, *folder.parents) if not each.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(f"cannot make the folder {folder}: a file is in its place") from error
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}") from error
    return new


def remove_empty(folders: Sequence[Path]) -> None:
    """Remove those of the folders, innermost first, in which there is nothing."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def probe(folder: Path) -> None:
    """Write and remove a file. Raises InputError if that fails: the folder is read-only, or the disk is full."""
    part = partial_path(folder / "probe")
    try:
        with part.open("wb") as file:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically, whoever else writes it: after a kill, it is either the old or the new one.

    The content goes to a temporary file, which then replaces `path`. Raises InputError if that fails.
    """
    part = partial_path(path)
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


def partial_path(path: Path) -> Path:
    """The temporary file next to `path`, named after its writer: its machine and its process."""
    return path.with_name(f".{path.name}.{HOST}.{os.getpid()}")


def remove_partials(folder: Path) -> None:
    """Remove what killed writers of this machine left half-written in the folder. Raises OSError if that fails."""
    for path in folder.iterdir():
        found = re.fullmatch(rf"\..+\.{re.escape(HOST)}\.(\d{{1,9}})", path.name)
        process = int(found[1]) if found else 0
        # whoever sweeps is not writing: what has its own id, another process wrote before
        if found and (process == os.getpid() or not alive(process)):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def alive(process: int) -> bool:
    """Whether a process with this id runs on this machine."""
    if os.name != "posix":  # elsewhere, signal 0 does more than ask
        return True
    with contextlib.suppress(PermissionError):  # another user's
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
    return True


def sync(folder: Path) -> None:
    """Make a folder's renames survive a power failure, where the system can do that."""
    with contextlib.suppress(OSError):  # Windows opens no folders
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
