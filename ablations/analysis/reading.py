"""Stored results as tidy tables, wherever they come from: studies and single runs; and tidy tables as a study."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from ablations.analysis.records import (
    COLUMNS,
    MADE,
    REINFORCE,
    SHARES,
    SUFFIX,
    About,
    Study,
    load,
    origin,
    refuse_mixed,
)
from ablations.analysis.stats import AVERAGED
from ablations.question.arms import Arm, Design, compared, in_words, numbers
from ablations.training.scores import POINTS, area, late, on_grid
from tricks.errors import InputError
from tricks.ladder import PRESETS, named
from tricks.restore import contents
from tricks.runs.files import CHECKPOINT
from tricks.runs.learning_curve import read_table

SCORES = ("area", "late", "diverged")
CURVES = "curves.csv.gz"  # in the folder of an answer: every update, with the diagnostics


class Frames(NamedTuple):
    """Runs as two tidy tables."""

    runs: pd.DataFrame
    """A row per arm and seed: arm, seed, lr, area, late, diverged, and what else is known."""
    curves: pd.DataFrame
    """Rows of arm, seed, step, return, and what else was kept, such as diagnostics."""


def read(path: str | Path) -> Frames:
    """The runs and curves in a file or a folder, as two tidy tables; docs/compare.md says what every column is.

    path: a study (`*.runs.csv.gz`), the folder that an answer has beside it, that of a run of `python -m tricks train
    --out`, or a folder of any of these, whose tables are put together. Raises InputError if there is nothing of that
    kind.
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
    inside = sorted(path.iterdir()) if path.is_dir() and not _reader(path) else [path]
    return {each: reader for each in inside if (reader := _reader(each))}


def together(parts: Sequence[Frames]) -> Frames:
    """Several tables as one; columns that one of them lacks are NaN there.

    Raises InputError if studies are of different origins. Single runs and others' go with all.
    """
    noted = [part.runs.dropna(subset="algorithm") for part in parts if "algorithm" in part.runs]
    refuse_mixed((str(row["study"]), origin(row)) for part in noted for row in part.to_dict("records"))
    runs, curves = (pd.concat([part[k] for part in parts], ignore_index=True) for k in (0, 1))
    return Frames(runs, curves)


def _reader(path: Path) -> Callable[[Path], Frames] | None:
    """What reads this study, answer or run; None if it is none of these."""
    if path.is_file() and path.name.endswith(SUFFIX):
        return of_study
    if (path / CURVES).is_file():
        return of_answer
    stored = (path / "run.json").is_file() and (path / "curve.csv").is_file()
    return of_run if stored or (path / CHECKPOINT).is_file() else None


def of_study(source: Path | Study) -> Frames:
    """A study's runs, and their returns at every hundredth of the budget.

    An arm has its own name, or that of a preset, with what it has less or more.
    """
    study = load(source) if isinstance(source, Path) else source
    runs = study.runs.assign(study=study.name, tricks=study.runs.tricks.replace("", REINFORCE))
    names = {tricks: short_name(tricks) for tricks in runs.tricks.unique()}
    runs = runs.assign(arm=runs.arm.where(runs.arm.ne(""), runs.tricks.map(names)), area=runs[SHARES].mean(axis=1))
    keys = ["study", "arm", "env", "steps", "numbers", "lr", "seed"]
    curves = runs.melt(keys, SHARES, "share", "return")
    curves["step"] = (curves.steps * curves.share.str.rstrip("%").astype(int) / POINTS).round().astype(int)
    order = ["study", "arm", "env", "numbers", "lr", "seed", "step"]
    curves = curves[[*order, "return"]].sort_values(order, kind="stable", ignore_index=True)
    runs = runs.assign(**dict.fromkeys(MADE)) if study.kind == "games" else runs
    kept = ["study", "arm", "seed", "env", "steps", "tricks", "numbers", "lr", "tuned", *SCORES, *MADE]
    return Frames(runs[kept], curves)


def of_answer(folder: Path) -> Frames:
    """What `compare` or `judge` wrote: the runs of the studies that are named in the folder, and its curves."""
    try:
        curves = read_table(folder / CURVES)
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / CURVES} cannot be read: {' '.join(str(error).split())}") from error
    every = [of_study(folder.parent / f"{name}{SUFFIX}").runs for name in curves.study.unique()]
    return Frames(pd.concat(every, ignore_index=True), curves)


def as_study(frames: Frames, against: str, grids: Mapping[str, pd.DataFrame]) -> Study:
    """Runs of any origin as a study, whose only design compares each arm to one of them.

    grids: of each arm, its returns on the grid of steps that all have in common, see `on_grids`.
    """
    rows, parts = frames.runs.set_index(["arm", "seed"]), []
    for name, grid in grids.items():
        own = rows.loc[name].reindex(grid.index)
        known = {each: own[each].to_numpy() if each in own else np.nan for each in ("lr", "late", "diverged")}
        if "steps" in own and own.steps.max() > grid.columns[-1]:  # what came later is no part of this study
            known["late"] = grid.iloc[:, -AVERAGED:].mean(axis=1).to_numpy()
        part = pd.DataFrame(grid.to_numpy(), columns=SHARES)
        parts.append(part.assign(arm=name, seed=grid.index, steps=int(grid.columns[-1]), **known))
    envs = [*frames.runs.env.dropna()] if "env" in frames.runs else []
    unknown = dict.fromkeys(("numbers", "tricks", "tuned", *MADE), "")
    runs = pd.concat(parts, ignore_index=True).assign(env=envs[0] if envs else "", **unknown)[COLUMNS]
    first, *others = [Arm(name, named(REINFORCE)) for name in sorted(grids, key=lambda name: name != against)]
    design = Design("runs", (), (first, *others), tuple(compared(arm, first) for arm in others))
    about: About = {"command": "", "seconds": np.nan, "steps": np.nan, "made with": {}, "seeds": [0, len(runs)]}
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
