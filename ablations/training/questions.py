"""What a table of many agents answers, as columns beside its rows, so that it never gives way to another answer."""

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ablations.design.flag_sets import flags, numbers
from ablations.training import jobs as current
from ablations.training.jobs import Job, kind
from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import Tricks
from tricks.runs.learning_curve import read_table


def asked_of(config: Config, tricks: Tricks, jobs: Sequence[Job]) -> dict[str, Any]:
    """What the agents of these jobs have in common. config, tricks: the numbers and flags that all of them have."""
    code = sorted({job.own.fingerprint for job in jobs if job.own})
    about = {"env": config.env, "steps": config.steps, "flags": flags(tricks), "numbers": numbers(config)}
    return about | {"device": kind(config.device), "own_code": " ".join(code), "algorithm": current.ALGORITHM}


def refuse_other_answer(path: Path, asked: Mapping[str, Any]) -> None:
    """Raise InputError, with what differs, if the file is a table of another question. asked: of `asked_of`.

    A table that lacks a column is older than it, and says nothing of that.
    """
    try:
        before = read_table(path, dtype=str, keep_default_na=False).iloc[0]
    except (OSError, ValueError, IndexError, EOFError, zlib.error):
        return  # there is none, or nothing that could be lost
    for name, value in asked.items():
        if name in before and before[name] != str(value):
            there, here = before[name] or "none", str(value) or "none"
            said = f"{name.replace('_', ' ')} {there}, where this one has {here}"
            raise InputError(f"{path} holds other results, with {said}; choose another --out")
