"""What a result was made with, as far as it can be known. That is a courtesy, which never stops a training."""

import hashlib
import os
import platform
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from tricks.errors import InputError
from tricks.ladder import OWN, own_files
from tricks.version import ALGORITHM, BENEATH, DISTRIBUTION, __version__, installed

VERSIONS = ("tricks", *BENEATH, "python", "machine", "commit")  # the keys of `provenance`
ROOT = Path(__file__).resolve().parents[2]  # of this package's repository, if there is one

MadeWith = dict[str, str | bool | int | None]


@cache
def provenance() -> dict[str, str | None]:
    """The versions, machine and commit that a result is made with; None for what cannot be known."""
    found = {"tricks": __version__} | {name: installed(name) for name in BENEATH}
    return found | {"python": platform.python_version(), "machine": platform.machine() or None, "commit": _commit()}


def provenance_of_a_run(device: str) -> MadeWith:
    """What run.json says beside the numbers: `provenance`, whether the package has changes, date (UTC), device."""
    from tricks.fast.dispatch import available  # slow to load

    gpu, date = gpu_name(device), datetime.now(UTC).isoformat(timespec="seconds")
    made: MadeWith = {**provenance(), "algorithm": ALGORITHM, "dirty": dirty(), "date": date}
    made |= {} if device == "cpu" and available() else {"numba": None}  # which then compiles nothing
    made |= {"files": ", ".join(own_files())} if OWN else {}  # of the user's own tricks
    return made | {"device": f"{device} ({gpu})" if gpu else device}


def dirty() -> bool | None:
    """Whether a tracked file of this package differs from the commit; None if there is no commit."""
    changes = provenance()["commit"] and _git("status", "--porcelain", "--untracked-files=no", "--", f"{ROOT}/tricks")
    return None if changes is None else bool(changes)


@cache
def changed() -> str:
    """Eight digits of what this package's files say, if they differ from the commit; else empty."""
    texts = sorted((str(path), path.read_bytes()) for path in (ROOT / "tricks").rglob("*.py")) if dirty() else []
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:8] if texts else ""


def gpu_name(device: str) -> str | None:
    """The model of the GPU with this name; None for a CPU, or where there is none."""
    import torch  # slow to load

    return torch.cuda.get_device_name(device) if device.startswith("cuda") and torch.cuda.is_available() else None


def in_one_line(made: MadeWith) -> str:
    """What a run was made with, for people: `2026-11-27, tricks 0.3.0 at commit 1a2b3c4, torch 2.8.0, ..., on cpu`."""
    commit = f" at commit {str(made['commit'])[:7]}" if made.get("commit") else ""
    ours = f"tricks {made.get('tricks')}{commit}{', with changes' * bool(made.get('dirty'))}"
    versions = [f"{name} {made[name]}" for name in (*BENEATH, "python") if made.get(name)]
    date = str(made.get("date") or "")[:10]
    return ", ".join(filter(None, [date, ours, *versions, f"on {made.get('device')}"]))


def _commit() -> str | None:
    """The commit of this package's own repository, not that of a repository around it."""
    top, _, commit = (_git("rev-parse", "--show-toplevel", "HEAD") or "").partition("\n")
    tracked = commit and _git("ls-files", "--error-unmatch", __file__)
    return commit if tracked and Path(top).resolve() == ROOT else None


def _git(*arguments: str) -> str | None:
    """The output of a git command in this package's folder, or None if it fails or there is no git."""
    elsewhere = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}  # set inside hooks
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, env=elsewhere, capture_output=True, timeout=10, check=True)
        return os.fsdecode(done.stdout).strip()
    return None


def refuse_other_version(where: str, made: Any) -> None:
    """Raise InputError unless a file was `made` with the ALGORITHM of today, in which case curves would go on alike."""
    if made.get("algorithm") != ALGORITHM:
        commit = f", commit {str(made['commit'])[:7]}" if made.get("commit") else ""
        theirs = f"{DISTRIBUTION} {made.get('tricks')} (ALGORITHM {made.get('algorithm')}{commit})"
        who = theirs if made.get("tricks") else f"another version of {DISTRIBUTION}"
        ours = f"this is {DISTRIBUTION} {__version__} (ALGORITHM {ALGORITHM})"
        raise InputError(f"{where} was saved by {who}; {ours}", "open it with that version, or train it anew")
