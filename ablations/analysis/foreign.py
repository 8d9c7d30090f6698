"""Learning curves that other code wrote: monitor and event files, evaluations, tables such as W&B exports."""

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
MONITOR, EVENTS = "monitor.csv", "events.out.tfevents"
EVALUATIONS = "evaluations.npz"  # of stable-baselines3's EvalCallback
BOUNDS = re.compile(r"__(MIN|MAX)$")  # of W&B's exports
NUMBERED = re.compile(r"(seed|run|agent)?[ _-]?\d+", re.IGNORECASE)  # a column for each run
CLEANRL = re.compile(r"(?P<env>.+?)__(?P<algorithm>.+)__\d+__\d+")  # the last two: seed and time
EPISODES = {"r", "l", "t"}  # the columns of stable-baselines3's monitor files
TIDY = {"arm", "seed", "step", "return"}  # the columns of what `plot` writes
STEPS = ("step", "global_step", "Step", "timesteps", "_step")
VALUES = ("return", "value", *TAGS)


class Columns(NamedTuple):
    """Which columns of a table, or which tag of an event file, mean what; empty: the usual names."""

    run: str = ""
    step: str = ""
    value: str = ""
    group: str = ""


def curves_of(path: Path, columns: Columns, *more: Path) -> pd.DataFrame:
    """Rows of seed, step, return, and group and env if they are known. Runs are numbered as seeds, from 0.

    path, more: a monitor file, an event file, evaluations, a table, or a folder: of monitor files or event files, which
    is one run, or of such folders, a run each. A folder that is called as CleanRL calls it names its environment and
    its algorithm, which is the group. Raises InputError, with the file's name, for anything else.
    """
    runs = [run for each in (path, *more) for run in _runs(each)]
    if not runs:
        raise InputError(
            f"{path} holds no monitor file, no event file and no CSV, and no study, comparison or run of ours"
        )
    parts = {k: _run(files, columns) for k, files in enumerate(runs)}
    found = pd.concat(parts, names=["run", ""]).reset_index("run")
    found["seed"] = found.groupby(["run", "seed"], sort=False).ngroup()
    found = found.drop(columns="run").reset_index(drop=True)
    back = found.groupby("seed").step.diff() < 0
    if back.any():
        raise InputError(f"{path}: steps go back, at step {found.step[back].iloc[0]:,}")
    if found.groupby("seed").size().min() < 2:
        raise InputError(f"{path} has a run of one point; a curve needs two")
    return found


def refuse_idle(columns: Columns, paths: Sequence[Path]) -> None:
    """Raise InputError if a column is named, but no file has columns to be named."""
    names = [file.name for path in paths for run in _runs(path) for file in run]
    events = any(EVENTS in name for name in names)
    tables = any(EVENTS not in name and not name.endswith(MONITOR) for name in names)
    for name, asked in columns._asdict().items():
        if asked and not tables and not (events and name == "value"):
            raise InputError(f"--{name} names a column of a CSV, and no source is one")


def _runs(path: Path) -> list[list[Path]]:
    """The files of each run."""
    if path.is_file():
        return [[path]]
    for own in (f"*{MONITOR}", f"*{EVENTS}*", EVALUATIONS):
        if files := sorted(path.glob(own)):
            return [files]
    inside = sorted(each for each in path.iterdir() if each.is_dir())
    return [run for each in inside for run in _runs(each)] or [[each] for each in sorted(path.glob("*.csv"))]


def _run(files: Sequence[Path], columns: Columns) -> pd.DataFrame:
    """Rows of step, return, seed (which counts the runs in a table), and group and env if they are known."""
    first, named = files[0], CLEANRL.fullmatch(files[0].parent.name)
    if EVENTS in first.name:
        rows = pd.concat([_events(each, columns.value) for each in files]).sort_values("step", ignore_index=True)
    else:
        found = [_read(each) for each in files]
        monitored = all({*each} >= EPISODES for each in found)
        rows = _monitors(first, pd.concat(found)) if monitored else _table(first, found[0], columns)
    return rows.assign(env=named["env"], group=rows.get("group", named["algorithm"])) if named else rows


def _read(path: Path) -> pd.DataFrame:
    """A file's table: evaluations are averaged at each step, and what stands before a monitor's columns is skipped."""
    try:
        if path.suffix == ".npz":
            with np.load(path) as found:
                return pd.DataFrame({"step": found["timesteps"], "return": found["results"].mean(axis=1)})
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        text = path.read_text(encoding="utf-8")
        return read_table(io.StringIO(text.partition("\n")[2] if text.startswith("#") else text))
    except ImportError:
        raise InputError(f"{path} needs pyarrow to be read: pip install pyarrow") from None
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error


def _monitors(path: Path, episodes: pd.DataFrame) -> pd.DataFrame:
    """Episodes of a run, of all its environments, as means over 1% of the steps.

    r is an episode's return, l its length, t the time at its end. The run's steps are the lengths of all its episodes
    so far, in the order of time.
    """
    if episodes.empty:
        raise InputError(f"{path} has no episode")
    every = episodes.sort_values("t", kind="stable", ignore_index=True)
    step = every["l"].cumsum()
    bins = np.ceil(step / step.iloc[-1] * POINTS).astype(int).clip(1)
    grouped = pd.DataFrame({"step": step, "return": every["r"].astype(float)}).groupby(bins)
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


def _table(path: Path, frame: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """A table with a row per run and step, or, as W&B exports it, with a column per run."""
    if set(frame) >= TIDY and not any(columns):
        columns = Columns("seed", "step", "return", "arm")
    if columns.group and not columns.run:
        raise InputError(f"{path}: --group needs --run, a column that tells runs apart")
    step = _column(path, frame, columns.step, STEPS, "--step")
    if columns.run:
        value = _column(path, frame, columns.value, ("return", "value", "episodic_return"), "--value")
        named = {"run": _column(path, frame, columns.run, (), "--run"), "step": step, "return": value}
        if columns.group:
            named["group"] = _column(path, frame, columns.group, (), "--group")
        rows = frame[[*named.values()]].set_axis([*named], axis=1)
    else:
        wide = {name: frame[[step, name]] for name in _runs_of(path, frame, step, columns.value)}
        each = [own.set_axis(["step", "return"], axis=1).assign(run=name) for name, own in wide.items()]
        rows = pd.concat(each, ignore_index=True)
    if any(rows[name].dtype.kind not in "if" for name in ("step", "return")):
        raise InputError(f"{path}: the columns of steps and values are not all numbers")
    rows = rows.dropna(subset=["step", "return"])
    if rows.empty:
        raise InputError(f"{path} has no values")
    if columns.group:
        rows = rows.astype({"group": str})
    own = ["run", *["group"] * bool(columns.group)]  # a group may number its own runs
    return rows.assign(seed=rows.groupby(own, sort=False, dropna=False).ngroup()).drop(columns="run")


def _runs_of(path: Path, frame: pd.DataFrame, step: str, value: str) -> list[str]:
    """The columns that are a run each. Raises InputError if it is not clear which those are.

    They are called `run - metric`, as W&B exports them, or numbered; a single one may have any name. A table with
    several metrics of one run has the one that is asked for, or one with a usual name.
    """
    numbers = [str(name) for name in frame if name != step and frame[name].dtype.kind in "if"]
    names = [name for name in numbers if not BOUNDS.search(name) and not name.startswith("_")]
    if value:
        return [name for name in names if name.endswith(f" - {value}")] or [_column(path, frame, value, (), "--value")]
    if not names:
        raise InputError(f"{path} has no column of numbers besides {step!r}")
    alone = len(names) == 1 and "loss" not in names[0]
    exported = all(" - " in name for name in names) and len({name.rpartition(" - ")[2] for name in names}) == 1
    if alone or exported or all(map(NUMBERED.fullmatch, names)):
        return names
    if len(usual := [name for name in names if name in VALUES]) == 1:
        return usual
    several = ", ".join(names[:20])
    raise InputError(f"{path}: which of its columns is the return? Name one with --value: {several}")


def _column(path: Path, frame: pd.DataFrame, asked: str, usual: Sequence[str], option: str) -> str:
    found = next((name for name in ([asked] if asked else usual) if name in frame), None)
    if found is None:
        lacks = f"no column {asked!r}" if asked else f"no column {' or '.join(usual)}; name one with {option}"
        raise InputError(f"{path} has {lacks}; its columns are {', '.join(map(str, frame.columns[:20]))}")
    return found
