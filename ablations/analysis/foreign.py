"""Learning curves that other code wrote: monitor files, TensorBoard's event files, tables such as W&B exports."""

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from ablations.training.scores import POINTS
from tricks.core.extras import how_to_install
from tricks.errors import InputError
from tricks.runs.learning_curve import read_table

TAGS = ("rollout/ep_rew_mean", "charts/episodic_return", "episodic_return", "train/return", "return")
EVENTS = "events.out.tfevents"
BOUNDS = re.compile(r"__(MIN|MAX)$")  # of W&B's exports


class Columns(NamedTuple):
    """Which columns of a table, or which tag of an event file, mean what; empty: the usual names."""

    run: str = ""
    step: str = ""
    value: str = ""
    group: str = ""


def curves_of(path: Path, columns: Columns) -> pd.DataFrame:
    """Rows of seed, step, return, and group if the table has such a column. Runs are numbered as seeds, from 0.

    path: a monitor file, an event file, a CSV, or a folder: of monitor files or event files, which is one run, or of
    such folders, a run each. Raises InputError, with the file's name, for anything else.
    """
    runs = _runs(path)
    if not runs:
        raise InputError(
            f"{path} holds no monitor file, no event file and no CSV, and no study, comparison or run of ours"
        )
    parts, seeds = [], 0
    for files in runs:
        part = _run(files, columns)
        part["seed"] += seeds
        seeds = int(part.seed.max()) + 1
        parts.append(part)
    found = pd.concat(parts, ignore_index=True)
    back = found.groupby("seed").step.diff() < 0
    if back.any():
        raise InputError(f"{path}: steps go back, at step {found.step[back].iloc[0]:,}")
    lengths = found.groupby("seed").size()
    if lengths.min() < 2:
        raise InputError(f"{path} has a run of one point; a curve needs two")
    return found


def refuse_idle(columns: Columns, paths: Sequence[Path]) -> None:
    """Raise InputError if a column is named, but no file has columns to be named."""
    files = [file for path in paths for run in _runs(path) for file in run]
    tables = any(not _is_monitor(file) and EVENTS not in file.name for file in files)
    events = any(EVENTS in file.name for file in files)
    for name, asked in columns._asdict().items():
        if asked and not tables and not (events and name == "value"):
            raise InputError(f"--{name} names a column of a CSV, and no source is one")


def _runs(path: Path) -> list[list[Path]]:
    """The files of each run."""
    if path.is_file():
        return [[path]]
    own = sorted(each for each in path.iterdir() if _is_monitor(each) or EVENTS in each.name)
    if own:
        monitors = [each for each in own if _is_monitor(each)]
        return [monitors or own]
    inside = sorted((each for each in path.iterdir() if each.is_dir()), key=_naturally)
    deeper = [run for each in inside for run in _runs(each)]
    return deeper or [[each] for each in sorted(path.glob("*.csv"))]


def _naturally(path: Path) -> list[object]:
    """`PPO_10` comes after `PPO_9`."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)]


def _is_monitor(path: Path) -> bool:
    return path.is_file() and path.name.endswith("monitor.csv")


def _run(files: Sequence[Path], columns: Columns) -> pd.DataFrame:
    first = files[0]
    if EVENTS in first.name:
        return pd.concat([_events(each, columns.value) for each in files]).sort_values("step", ignore_index=True)
    text = _text(first)
    if _is_monitor(first) or text.startswith("#{"):
        return _monitors(files)
    return _csv(first, text, columns)


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}") from error
    if not text.strip():
        raise InputError(f"{path} is empty")
    return text


def _monitors(files: Sequence[Path]) -> pd.DataFrame:
    """Episodes of stable-baselines3's monitor files, one per environment of a run, as means over 1% of the steps.

    A file has a row per episode: r its return, l its length, t the time at its end. The run's steps are the lengths of
    all its episodes so far, in the order of time.
    """
    parts = []
    for path in files:
        text = _text(path)
        part = _parsed(path, text.partition("\n")[2] if text.startswith("#") else text)
        if missing := [name for name in ("r", "l", "t") if name not in part]:
            raise InputError(f"{path} is no monitor file: it has no column {missing[0]!r}")
        parts.append(part)
    every = pd.concat(parts).sort_values("t", kind="stable", ignore_index=True)
    if every.empty:
        raise InputError(f"{files[0]} has no episode")
    step = every["l"].cumsum().to_numpy()
    bins = np.ceil(step / step[-1] * POINTS).astype(int).clip(1)
    frame = pd.DataFrame({"bin": bins, "step": step, "return": every["r"].to_numpy(dtype=float)})
    grouped = frame.groupby("bin")
    found = grouped.agg(step=("step", "max"), episodes=("return", "size"), **{"return": ("return", "mean")})
    return found.reset_index(drop=True).assign(seed=0)


def _events(path: Path, tag: str) -> pd.DataFrame:
    """A scalar of an event file, through TensorBoard's own reader."""
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError:
        raise InputError(f"{path} needs TensorBoard to be read; {how_to_install('tensorboard')}") from None
    reader = EventAccumulator(str(path), size_guidance={"scalars": 0})
    reader.Reload()
    tags = reader.Tags()["scalars"]
    chosen = tag or next((each for each in TAGS if each in tags), "")
    if chosen not in tags:
        said = f"no scalar {chosen!r}" if chosen else "no return under a usual name; pick a scalar with --value"
        raise InputError(f"{path} has {said}; its scalars are {', '.join(sorted(tags)[:20]) or 'none'}")
    points = [(event.step, event.value) for event in reader.Scalars(chosen)]
    return pd.DataFrame(points, columns=["step", "return"]).assign(seed=0)


def _csv(path: Path, text: str, columns: Columns) -> pd.DataFrame:
    """A table with a row per run and step, or, as W&B exports it, with a column per run."""
    frame = _parsed(path, text)
    step = _column(path, frame, columns.step, ("step", "global_step", "Step", "timesteps", "_step"), "--step")
    if columns.run:
        _column(path, frame, columns.run, (), "--run")
        value = _column(path, frame, columns.value, ("return", "value", "episodic_return"), "--value")
        rows = pd.DataFrame({"run": frame[columns.run].astype(str), "step": frame[step], "return": frame[value]})
    else:
        names = [str(name) for name in frame if name != step]
        wide = [name for name in names if not BOUNDS.search(name) and _wanted(name, columns.value)]
        wide = [name for name in wide if frame[name].dtype.kind in "if"]
        if columns.value and not wide:
            _column(path, frame, columns.value, (), "--value")
        if not wide:
            raise InputError(f"{path} has no column of numbers besides {step!r}")
        each_run = [frame[[step, name]].set_axis(["step", "return"], axis=1).assign(run=name) for name in wide]
        rows = pd.concat(each_run, ignore_index=True).dropna()
    if columns.group:
        _column(path, frame, columns.group, (), "--group")
        if not columns.run:
            raise InputError(f"{path}: --group needs --run, a column that tells runs apart")
        rows["group"] = frame[columns.group].astype(str)
    if any(rows[name].dtype.kind not in "if" for name in ("step", "return")):
        raise InputError(f"{path}: the columns of steps and values are not all numbers")
    rows = rows.dropna(subset=["step", "return"])
    if rows.empty:
        raise InputError(f"{path} has no values")
    runs = rows["run"] + "/" + rows["group"] if columns.group else rows["run"]  # a group may number its own runs
    return rows.assign(seed=pd.factorize(runs)[0]).drop(columns="run")


def _wanted(name: str, value: str) -> bool:
    """Whether a column is asked for: by its whole name, or by what follows the run's, as in `ppo_1 - return`."""
    return not value or name == value or name.endswith(f" - {value}")


def _column(path: Path, frame: pd.DataFrame, asked: str, usual: Sequence[str], option: str) -> str:
    found = next((name for name in ([asked] if asked else usual) if name in frame), None)
    if found is None:
        lacks = f"no column {asked!r}" if asked else f"no column {' or '.join(usual)}; name one with {option}"
        raise InputError(f"{path} has {lacks}; its columns are {', '.join(map(str, frame.columns[:20]))}")
    return found


def _parsed(path: Path, text: str) -> pd.DataFrame:
    try:
        return read_table(io.StringIO(text))
    except ValueError as error:
        raise InputError(f"{path} is no CSV: {' '.join(str(error).split())}") from error
