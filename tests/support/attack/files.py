"""Damaged files: each is read as what it was, or refused and named. What a file names is never imported or run."""

import contextlib
import gzip
import io
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import torch
from support.attack.damages import MODULE, WAYS, Damage, ran
from support.attack.law import refused
from support.jobs import JOB

from ablations.analysis import study_files
from ablations.training import rate_table
from ablations.training.jobs import Result
from ablations.training.store import Store
from tricks import Run, load
from tricks.runs import checkpoint


def attack(damage: Damage, folder: Path, read: Callable[[Path], object], original: object) -> str:
    """Damage a file in a copy of the folder and read it: the content must be the original, or the file be named."""
    with tempfile.TemporaryDirectory() as name:
        copied = Path(name) / "copy"
        shutil.copytree(folder, copied)
        (copied / "stolen.py").write_text(MODULE, encoding="utf-8")
        path = copied / damage.file
        zipped, before = path.suffix == ".gz", path.read_bytes()
        after = WAYS[damage.how](gzip.decompress(before) if zipped else before, damage)
        path.write_bytes(gzip.compress(after, mtime=0) if zipped and damage.value % 3 else after)
        with contextlib.chdir(copied), mock.patch("sys.path", [str(copied), *sys.path]):
            found, broken = refused(lambda: read(copied), damage.file)
        if ran():
            return f"{damage.file}, {damage.how}: runs code that the file names"
    if not broken and found is not None and not alike(found, original):
        broken = "is read as something else"
    return broken and f"{damage.file}, {damage.how}: {broken}"


def alike(one: Any, other: Any) -> bool:
    """Whether two things that were read are equal, to the last bit."""
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(one.nan_to_num(7), other.nan_to_num(7))
    if isinstance(one, pd.DataFrame):
        return bool(one.equals(other))
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(alike(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other) or (one != one and other != other)


def run_content(folder: Path) -> object:
    """All that `load` reads of a run."""
    run: Run = load(folder)
    return run.config, run.tricks.on, run.curve, run.diverged, run.seconds, dict(run.agent.state_dict())


def checkpoint_content(folder: Path) -> object:
    """All that `resume` reads of a checkpoint."""
    saved = checkpoint.read(folder)
    return saved.config, saved.tricks.on, saved.every, saved.step, saved.parts, saved.evaluation


def job_content(folder: Path) -> object:
    """A job's result; None if it was set aside, which standard error must say."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        result: Result | None = Store(folder).read(JOB)
    if result is None:
        assert JOB.key in said.getvalue() and said.getvalue().count("\n") == 1, f"said: {said.getvalue()}"  # noqa: PT018
        return None
    return result.curve, dict(result.diverged), result.seconds, result.steps, dict(result.made_with)


def study_content(folder: Path) -> object:
    return [
        (study.name, [design.name for design in study.designs], study.runs, dict(study.about))
        for study in study_files.load_all(folder)
    ]


def rates_content(folder: Path) -> object:
    with mock.patch.object(rate_table, "TABLE", folder / rate_table.TABLE.name):
        rate_table.table.cache_clear()
        try:
            return rate_table.table()
        finally:
            rate_table.table.cache_clear()
