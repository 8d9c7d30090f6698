"""What is in a run's folder, read and checked: a finished run, or the checkpoint of an unfinished one."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from torch import Tensor

from tricks.config import Config
from tricks.errors import InputError, said
from tricks.ladder import Tricks
from tricks.record import recorded
from tricks.runs.about import About, asked, digest, read_about, whole
from tricks.runs.best import named_best
from tricks.runs.checkpoint import how_to_resume
from tricks.runs.csv_tables import read_table
from tricks.runs.files import CHECKPOINT, LAST, finished, found
from tricks.runs.learning_curve import as_curve, check_curve, columns_of
from tricks.runs.provenance import Made, made_with, unknown_to_us
from tricks.runs.state import parse
from tricks.runs.tensor_files import tensors_in

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class Contents:
    """A run as its folder has it: what was trained, its curve, its agents' tensors, and what makes its last.pt."""

    about: About
    config: Config
    tricks: Tricks
    curve: pd.DataFrame
    tensors: dict[str, Tensor]
    last: Callable[[], bytes] | None
    steps: int
    """The budget, or how far an unfinished run is."""
    file: str = "agent.pt"
    """Where the tensors are."""
    remark: str = ""
    """What to tell whoever opens it, if it is unfinished."""


def contents(folder: Path) -> Contents:
    """Read the run in the folder. Raises InputError if there is none, or if it is damaged or of another version."""
    if not finished(folder):
        return _unfinished(folder)

    def settings(content: bytes) -> tuple[About, Config, Tricks]:
        about = read_about(content)
        return about, *asked(about.config, about.tricks)

    def curve_in(content: bytes) -> pd.DataFrame:
        curve = read_table(BytesIO(content))
        check_curve(curve, about.rows, config.seed_list, dict(about.diverged), recorded(config.record))
        curve.attrs = dict(about.origin.items())
        return curve

    text = _read(folder, "run.json")
    about, config, tricks = _parsed(folder, "run.json", text, settings, made_with(text) if whole(text) else None)

    def parsed(name: str, parse: Callable[[bytes], T]) -> T:
        content = _read(folder, name)
        if about.checksums.get(name) != digest(content):
            raise unusable(folder, f"{name}: it does not match its checksum")
        return _parsed(folder, name, content, parse, about.made_with)

    curve, tensors = parsed("curve.csv", curve_in), parsed("agent.pt", tensors_in)
    kept = LAST in about.checksums and found(folder, LAST).is_file()
    last = partial(bytes, parsed(LAST, bytes)) if kept else None
    return Contents(about, config, tricks, curve, tensors, last, config.steps)


def _unfinished(folder: Path) -> Contents:
    """The run in the folder as far as its checkpoint knows it."""
    path = folder / CHECKPOINT
    if not path.is_file():
        raise InputError(f"no saved run in {folder}: there is no run.json")
    content = _read(folder, CHECKPOINT)
    saved = parse(path, content)

    def known(parts: Mapping[str, Any]) -> Contents:
        log = parts["log"]
        curve = as_curve(log["rows"].numpy(), columns_of(saved.config), log.get("origin", {}))
        diverged, reasons = dict(log["diverged"]), dict(log["reasons"])
        check_curve(curve, len(curve), saved.config.seed_list, diverged, recorded(saved.config.record))
        about = About(
            config=asdict(saved.config),
            tricks=list(saved.tricks.on),
            diverged=list(diverged.items()),
            rows=len(curve),
            reasons=list(reasons.items()),
            seconds=log["seconds"],
            spaces=saved.spaces,
            own=saved.own,
            checksums={},
            checksum="",
            made_with=saved.made_with,
            evaluation=None if saved.evaluation is None else saved.evaluation.told(),
        )
        tensors = dict(parts["agent"]) | named_best(log["kept"]["state"] if "kept" in log else {})
        last = partial(bytes, content)
        how_far = f"step {saved.step:,} of {saved.config.steps:,}"
        remark = f"{folder} is unfinished, at {how_far}; resume it with: {how_to_resume(folder)}"
        return Contents(about, saved.config, saved.tricks, curve, tensors, last, saved.step, CHECKPOINT, remark)

    return _parsed(folder, CHECKPOINT, saved.parts, known, saved.made_with)


def _read(folder: Path, name: str) -> bytes:
    try:
        return found(folder, name).read_bytes()
    except FileNotFoundError as error:
        raise unusable(folder, f"there is no {name}") from error
    except OSError as error:
        raise InputError(f"cannot read {folder / name}: {error.strerror}") from error


def _parsed(folder: Path, name: str, content: S, parse: Callable[[S], T], made: Made | None) -> T:
    """What `parse` makes of the content of a file. Raises InputError."""
    try:
        return parse(content)
    except Exception as error:  # what a file holds can be wrong in any way
        raise unusable(folder, f"{name}: {said(error)}", made) from error


def unusable(folder: Path, reason: str, made: Made | None = None) -> InputError:
    """What to say of a run that cannot be read, which was `made` with that, if its files are whole."""
    run = f"the run in {folder}"
    return unknown_to_us(run, made, reason) or InputError(f"{run} is damaged: {reason}")
