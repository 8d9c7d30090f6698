"""What is in a run's folder, read and checked: a finished run, or the checkpoint of an unfinished one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from tricks.runs.about import About, Both, Own, asked, digest, read_about, tensors_in, whole
from tricks.runs.checkpoint import how_to_resume
from tricks.runs.evaluation import Evaluation
from tricks.runs.files import CHECKPOINT, LAST, finished, found, trying
from tricks.runs.learning_curve import as_curve, check_curve, columns_of, read_table
from tricks.runs.provenance import Made, MadeWith, made_with, unknown_to_us
from tricks.runs.state import parse
from tricks.runs.tally import named_best

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class Contents:
    """A run as its folder has it; for most fields see `Run`."""

    config: Config
    tricks: Tricks
    spaces: Both
    own: Own
    evaluation: Evaluation | None
    made_with: MadeWith
    curve: pd.DataFrame
    tensors: dict[str, Tensor]
    diverged: dict[int, int]
    reasons: dict[int, str]
    seconds: float
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

    def settings(content: bytes) -> tuple[About, Config, Tricks, Evaluation | None]:
        about = read_about(content)
        evaluation = None if about.evaluation is None else Evaluation.read(about.evaluation)
        return about, *asked(about.config, about.tricks), evaluation

    text = _read(folder, "run.json")
    made = made_with(text) if whole(text) else None
    about, config, tricks, evaluation = _parsed(folder, "run.json", text, settings, made)
    diverged, reasons = dict(about.diverged), dict(about.reasons)

    def parsed(name: str, parse: Callable[[bytes], T]) -> T:
        content = _read(folder, name)
        if about.checksums.get(name) != digest(content):
            raise unusable(folder, f"{name}: it does not match its checksum")
        return _parsed(folder, name, content, parse, about.made_with)

    def curve_in(content: bytes) -> pd.DataFrame:
        curve = read_table(BytesIO(content))
        check_curve(curve, about.rows, config.seed_list, diverged, recorded(config.record))
        curve.attrs = dict(about.origin.items())
        return curve

    what = config, tricks, about.spaces, about.own, evaluation, about.made_with
    found_in = parsed("curve.csv", curve_in), parsed("agent.pt", tensors_in)
    seconds = float("nan") if about.seconds is None else about.seconds
    kept = LAST in about.checksums and found(folder, LAST).is_file()
    last = partial(bytes, parsed(LAST, bytes)) if kept else None
    return Contents(*what, *found_in, diverged, reasons, seconds, last, config.steps)


def _unfinished(folder: Path) -> Contents:
    """The run in the folder as far as its checkpoint knows it."""
    path = folder / CHECKPOINT
    if not path.is_file():
        raise InputError(f"no saved run in {folder}: there is no run.json")
    content = _read(folder, CHECKPOINT)
    saved = parse(path, content)
    config = saved.config

    def known(parts: Mapping[str, Any]) -> Contents:
        log = parts["log"]
        curve = as_curve(log["rows"].numpy(), columns_of(config), log.get("origin", {}))
        diverged, reasons = dict(log["diverged"]), dict(log["reasons"])
        check_curve(curve, len(curve), config.seed_list, diverged, recorded(config.record))
        tensors = dict(parts["agent"]) | named_best(log["kept"]["state"] if "kept" in log else {})
        what = config, saved.tricks, saved.spaces, saved.own, saved.evaluation, saved.made_with
        how_far = f"step {saved.step:,} of {config.steps:,}"
        remark = f"{folder} is unfinished, at {how_far}; resume it with: {how_to_resume(folder)}"
        ended = diverged, reasons, log["seconds"], partial(bytes, content), saved.step
        return Contents(*what, curve, tensors, *ended, CHECKPOINT, remark)

    return _parsed(folder, CHECKPOINT, saved.parts, known, saved.made_with)


def _read(folder: Path, name: str) -> bytes:
    with trying(f"read {folder / name}"):
        try:
            return found(folder, name).read_bytes()
        except FileNotFoundError as error:
            raise unusable(folder, f"there is no {name}") from error


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
