"""What a result was made with, as far as it can be known: a courtesy, which never stops a training."""

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

from tricks.version import BENEATH, __version__, installed

VERSIONS = ("tricks", *BENEATH, "python", "machine", "commit")  # the keys of `provenance`
ROOT = Path(__file__).resolve().parents[2]  # of this package's repository, if there is one
PATIENCE = 10.0  # seconds to wait for git


@cache
def provenance() -> dict[str, str | None]:
    """The versions, machine and commit that a result is made with; None for what cannot be known."""
    found = {"tricks": __version__} | {name: installed(name) for name in BENEATH}
    return found | {"python": platform.python_version(), "machine": platform.machine() or None, "commit": _commit()}


def _commit() -> str | None:
    """The commit of this package's own repository, not that of a repository around it."""
    top, _, commit = (_git("rev-parse", "--show-toplevel", "HEAD") or "").partition("\n")
    tracked = commit and _git("ls-files", "--error-unmatch", __file__)
    return commit if tracked and Path(top).resolve() == ROOT else None


def _git(*arguments: str) -> str | None:
    """The output of a git command in this package's folder, or None if it fails or there is no git."""
    elsewhere = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}  # set inside hooks
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        done = subprocess.run(command, env=elsewhere, capture_output=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return os.fsdecode(done.stdout).strip()
