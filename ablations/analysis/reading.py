"""Runs as tidy tables, wherever they come from: studies, answers and single runs of ours; and what other code wrote, in
monitor and event files, evaluations, and tables such as W&B exports. And tidy tables as a study.
"""

import io
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ablations.analysis.records import COLUMNS, MADE, REINFORCE, SHARES, SUFFIX, Study, load, origin, refuse_mixed
from ablations.analysis.stats import AVERAGED
from ablations.question.arms import Arm, Design, compared, in_words, numbers
from ablations.training.scores import POINTS, area, late, on_grid
from tricks.core.extras import how_to_install
from tricks.errors import InputError
from tricks.ladder import PRESETS, named
from tricks.restore import contents
from tricks.runs.files import CHECKPOINT
from tricks.runs.learning_curve import read_table

CURVES = "curves.csv.gz"  # in the folder of an answer: every update, with the diagnostics


class Frames(NamedTuple):
    """Runs as two tidy tables."""

    runs: pd.DataFrame  # a row per arm and seed: arm, seed, lr, area, late, diverged, and what else is known
    curves: pd.DataFrame  # rows of arm, seed, step, return, and what else was kept, such as diagnostics


def read(path: str | Path) -> Frames:
    """The runs and curves in a file or a folder, as two tidy tables; docs/compare.md says what every column is.

    path: a study (`*.runs.csv.gz`), the folder that an answer has beside it, that of a run of `python -m tricks train
    --out`, or a folder of any of these, whose tables are put together. Raises InputError if there is none of these.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"there is no {path}")
    if not (places := stored_in(path)):
        raise InputError(f"{path} holds no study (*{SUFFIX}) and no run")
    parts = {place: reader(place) for place, reader in places.items()}
    answered = {name for place, part in parts.items() if (place / CURVES).is_file() for name in part.runs.study}
    return together([part for place, part in parts.items() if place.is_dir() or not answered & {*part.runs.study}])


def stored_in(path: Path) -> dict[Path, Callable[[Path], Frames]]:
    """Our studies, answers and runs, with what reads each: this path itself, or what is in this folder."""

    def reader_of(path: Path) -> Callable[[Path], Frames] | None:
        if path.is_file() and path.name.endswith(SUFFIX):
            return of_study
        if (path / CURVES).is_file():
            return of_answer
        stored = (path / "run.json").is_file() and (path / "curve.csv").is_file()
        return of_run if stored or (path / CHECKPOINT).is_file() else None

    inside = sorted(path.iterdir()) if path.is_dir() and not reader_of(path) else [path]
    return {each: reader for each in inside if (reader := reader_of(each))}


def together(parts: Sequence[Frames]) -> Frames:
    """Several tables as one, NaN where one lacks a column. Raises InputError if studies are of different origins."""
    noted = [part.runs.dropna(subset="algorithm") for part in parts if "algorithm" in part.runs]
    refuse_mixed((str(row["study"]), origin(row)) for part in noted for row in part.to_dict("records"))
    return Frames(*(pd.concat(tables, ignore_index=True) for tables in zip(*parts, strict=True)))


def of_study(source: Path | Study) -> Frames:
    """A study's runs, and their returns at every hundredth of the budget. An arm has its own name, or its short one."""
    study = load(source) if isinstance(source, Path) else source
    runs = study.runs.assign(study=study.name, tricks=study.runs.tricks.replace("", REINFORCE))
    names = {tricks: short_name(tricks) for tricks in runs.tricks.unique()}
    runs = runs.assign(arm=runs.arm.where(runs.arm.ne(""), runs.tricks.map(names)), area=runs[SHARES].mean(axis=1))
    keys = ["study", "arm", "env", "numbers", "lr", "seed"]
    curves = runs.melt([*keys, "steps"], SHARES, "share", "return")
    curves["step"] = (curves.steps * curves.share.str.rstrip("%").astype(int) / POINTS).round().astype(int)
    curves = curves[[*keys, "step", "return"]].sort_values([*keys, "step"], kind="stable", ignore_index=True)
    kept = ["study", "arm", "seed", "env", "steps", "tricks", "numbers", "lr", "tuned"]
    return Frames(runs[[*kept, "area", "late", "diverged", *MADE]], curves)


def of_answer(folder: Path) -> Frames:
    """What `compare` or `judge` wrote: the runs of the studies that are named in the folder, and its curves."""
    try:
        curves = read_table(folder / CURVES)
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / CURVES} cannot be read: {' '.join(str(error).split())}") from error
    every = [of_study(folder.parent / f"{name}{SUFFIX}").runs for name in curves.study.unique()]
    return Frames(pd.concat(every, ignore_index=True), curves)


def as_study(frames: Frames, against: str, grids: Mapping[str, pd.DataFrame]) -> Study:
    """Runs as a study that compares each arm to one of them. grids: each arm's returns at common steps (`on_grids`)."""
    rows, parts = frames.runs.set_index(["arm", "seed"]), []
    for name, grid in grids.items():
        own = rows.loc[name].reindex(grid.index)
        known = {each: own[each].to_numpy() if each in own else np.nan for each in ("lr", "late", "diverged")}
        if "steps" in own and own.steps.max() > grid.columns[-1]:  # what came later is no part of this study
            known["late"] = grid.iloc[:, -AVERAGED:].mean(axis=1).to_numpy()
        part = pd.DataFrame(grid.to_numpy(), columns=SHARES)
        parts.append(part.assign(arm=name, seed=grid.index, steps=int(grid.columns[-1]), **known))
    said = {each: [*frames.runs[each].dropna()] if each in frames.runs else [] for each in ("env", "numbers")}
    facts = dict.fromkeys(("tricks", "tuned", *MADE), "") | {"env": "".join(said["env"][:1])}
    runs = pd.concat(parts, ignore_index=True).assign(numbers=" ".join({*said["numbers"]}), **facts)[COLUMNS]
    first, *others = [Arm(name, named(REINFORCE)) for name in sorted(grids, key=lambda name: name != against)]
    design = Design("runs", (), (first, *others), tuple(compared(arm, first) for arm in others))
    about: Any = {"command": "", "seconds": np.nan, "steps": np.nan, "made with": {}, "seeds": [0, len(runs)]}
    return Study("plot", (design,), runs, about)


def short_name(tricks: str) -> str:
    """Flags by the nearest preset: `ppo − gae + bootstrap`; as they are if that is shorter."""
    on, names = tricks.replace(REINFORCE, "").split(), [tricks]
    for name, preset in PRESETS.items():
        gone = [f"− {each}" for each in preset.on if each not in on]
        more = [f"+ {each}" for each in on if each not in preset.on]
        names += [" ".join([name, *gone, *more])] * (name != REINFORCE)
    return min(names, key=len)


def of_run(folder: Path) -> Frames:
    """A run of `python -m tricks train`, or an unfinished one as far as it is. Its arm is named as a study's."""
    found = contents(folder)
    if found.remark:
        print(found.remark, file=sys.stderr)
    config, curve, on, steps = found.config, found.curve, in_words(found.tricks), found.steps
    named = {"study": folder.name, "arm": short_name(on), "env": config.env}
    rates = pd.Series(config.rates, config.seed_list)
    runs = seed_scores(curve, steps, found.diverged)
    runs = runs.assign(**named, steps=steps, tricks=on, numbers=numbers(config), lr=runs.seed.map(rates))
    return Frames(runs, curve.assign(**named)[[*named, *curve.columns]])


def seed_scores(curve: pd.DataFrame, steps: int, diverged: dict[int, int] | None = None) -> pd.DataFrame:
    """Rows of seed, area, late, diverged, from a curve with `seed, step, return` and, if it counts them, `episodes`."""
    stopped = diverged or {}
    grid = on_grid(curve, steps, stopped)
    counted = curve if "episodes" in curve else curve.assign(episodes=curve["return"].notna().astype(int))
    found = {"area": area(grid), "late": late(counted, steps, stopped), "diverged": pd.Series(stopped, dtype=float)}
    return pd.DataFrame(found, index=grid.index).rename_axis("seed").reset_index()


TAGS = ("rollout/ep_rew_mean", "charts/episodic_return", "episodic_return", "train/return", "return")
MONITOR, EVENTS = "monitor.csv", "events.out.tfevents"
EVALUATIONS = "evaluations.npz"  # of stable-baselines3's EvalCallback
BOUNDS = re.compile(r"__(MIN|MAX)$")  # of W&B's exports
NUMBERED = re.compile(r"(seed|run|agent)?[ _-]?\d+", re.IGNORECASE)  # a column for each run
CLEANRL = re.compile(r"(?P<env>.+?)__(?P<algorithm>.+)__\d+__\d+")  # the last two: seed and time
EPISODES = {"r", "l", "t"}  # the columns of stable-baselines3's monitor files; t begins again where one was continued
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

    path, more: a monitor file, an event file, evaluations, a table; a folder of monitor or event files (one run), or a
    folder of such folders (one run each). CleanRL's folder names give the environment and the group, its algorithm.
    Raises InputError, with the file's name, for anything else.
    """
    runs = [run for each in (path, *more) for run in _runs(each)]
    if not runs:
        known = "no monitor file, event file, evaluations.npz, or table, and nothing of ours"
        raise InputError(f"{path} holds no runs: {known}")
    parts = [_run(files, columns).assign(run=k) for k, files in enumerate(runs)]
    found = pd.concat(parts, ignore_index=True)
    found = found.assign(seed=found.groupby(["run", "seed"], sort=False).ngroup()).drop(columns="run")
    back = found.groupby("seed").step.diff() < 0
    if back.any():
        raise InputError(f"{path}: steps go back, at step {found.step[back].iloc[0]:,}")
    if found.groupby("seed").size().min() < 2:
        raise InputError(f"{path} has a run of one point; a curve needs two")
    return found


def refuse_unused_columns(columns: Columns, paths: Sequence[Path]) -> None:
    """Raise InputError if a column is named, but no file has columns to be named."""
    names = [file.name for path in paths for run in _runs(path) for file in run]
    events = any(EVENTS in name for name in names)
    tables = any(EVENTS not in name and not name.endswith(MONITOR) for name in names)
    for name, asked in columns._asdict().items():
        if asked and not tables and not (events and name == "value"):
            raise InputError(f"--{name} names a column, and no source is a table")


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
        rows = _monitors(dict(zip(files, found, strict=True))) if monitored else _table(first, found[0], columns)
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


def _monitors(parts: Mapping[Path, pd.DataFrame]) -> pd.DataFrame:
    """A run's episodes (r: return, l: length, t: end), of all its environments, as means over 1% of the steps."""
    for path, own in parts.items():
        if len(own) and any(own[name].dtype.kind not in "if" for name in EPISODES):
            raise InputError(f"{path}: r, l and t are not all numbers")
    shifted = [own.assign(t=own.t + own.t.shift().where(own.t.diff() < 0, 0).cumsum()) for own in parts.values()]
    every = pd.concat(shifted).sort_values("t", kind="stable", ignore_index=True)
    if every.empty:
        raise InputError(f"{next(iter(parts))} has no episode")
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
        wide = [frame[[step, name]] for name in _runs_of(path, frame, step, columns.value)]
        each = [own.set_axis(["step", "return"], axis=1).assign(run=k) for k, own in enumerate(wide)]
        rows = pd.concat(each, ignore_index=True)
    if any(rows[name].dtype.kind not in "if" or np.isinf(rows[name]).any() for name in ("step", "return")):
        raise InputError(f"{path}: the columns of steps and values are not all finite numbers")
    rows = rows.dropna(subset=["step", "return"])
    if rows.empty:
        raise InputError(f"{path} has no values")
    if columns.group:
        rows = rows.astype({"group": str})
    own = ["run", *["group"] * bool(columns.group)]  # a group may number its own runs
    return rows.assign(seed=rows.groupby(own, sort=False, dropna=False).ngroup()).drop(columns="run")


def _runs_of(path: Path, frame: pd.DataFrame, step: str, value: str) -> list[str]:
    """The columns that are a run each: called `run - metric`, as W&B exports them, or numbered, or a single one.

    A table with several metrics of one run has the one that is asked for, or one with a usual name. Raises InputError
    if it is not clear which those are.
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
