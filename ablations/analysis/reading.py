"""Stored results as tidy tables, wherever they come from: studies, comparisons, single runs."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ablations.analysis.compared import Frames
from ablations.analysis.joining import refuse_mixed
from ablations.analysis.studies import SHARES
from ablations.analysis.study_files import REINFORCE, SUFFIX, load
from ablations.design.flag_sets import in_words, numbers
from ablations.training.scores import POINTS, area, late, on_grid
from tricks.errors import InputError
from tricks.ladder import PRESETS
from tricks.restore import contents
from tricks.runs.files import CHECKPOINT
from tricks.runs.learning_curve import read_table

SCORES = ("area", "late", "diverged")


def read(path: str | Path) -> Frames:
    """The runs and curves in a file or a folder, as two tidy tables; docs/compare.md says what every column is.

    path: a study (`*.runs.csv.gz`), the folder of a comparison, that of a run of `python -m tricks train --out`, or a
    folder of any of these, whose tables are put together. Raises InputError if there is nothing of that kind.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"there is no {path}")
    if not (places := stored_in(path)):
        raise InputError(f"{path} holds no study (*{SUFFIX}), no comparison and no run")
    return together([reader(place) for place in places if (reader := _reader(place))])


def stored_in(path: Path) -> list[Path]:
    """Where our studies, comparisons and runs are: this path itself, or what is in this folder."""
    if _reader(path):
        return [path]
    return [each for each in sorted(path.iterdir()) if _reader(each)] if path.is_dir() else []


def together(parts: Sequence[Frames]) -> Frames:
    """Several tables as one; columns that one of them lacks are NaN there.

    Raises InputError if studies and comparisons are of different algorithms. Single runs and others' go with all.
    """
    noted = [part.runs.dropna(subset="algorithm") for part in parts if "algorithm" in part.runs]
    refuse_mixed(
        (str(row.study), str(row.algorithm)) for part in noted for row in part.drop_duplicates("study").itertuples()
    )
    runs, curves = (pd.concat([part[k] for part in parts], ignore_index=True) for k in (0, 1))
    return Frames(runs, curves)


def _reader(path: Path) -> Callable[[Path], Frames] | None:
    """What reads this study, comparison or run; None if it is none of these."""
    if path.is_file() and path.name.endswith(SUFFIX):
        return of_study
    if (path / "runs.csv").is_file() and (path / "curves.csv.gz").is_file():
        return of_comparison
    stored = (path / "run.json").is_file() and (path / "curve.csv").is_file()
    return of_run if stored or (path / CHECKPOINT).is_file() else None


def of_study(path: Path) -> Frames:
    """A study's runs, and their returns at every hundredth of the budget.

    An arm has the name of a preset, with what it has less or more.
    """
    study = load(path)
    runs = study.runs.assign(study=study.name, tricks=study.runs.tricks.replace("", REINFORCE))
    names = {tricks: short_name(tricks) for tricks in runs.tricks.unique()}
    runs = runs.assign(arm=runs.tricks.map(names), area=runs[SHARES].mean(axis=1))
    keys = ["study", "arm", "env", "steps", "numbers", "lr", "seed"]
    curves = runs.melt(keys, SHARES, "share", "return")
    curves["step"] = (curves.steps * curves.share.str.rstrip("%").astype(int) / POINTS).round().astype(int)
    order = ["study", "arm", "env", "numbers", "lr", "seed", "step", "return"]
    curves = curves[order].sort_values(order[:-1], kind="stable", ignore_index=True)
    runs = runs.assign(algorithm=study.algorithm if study.kind != "games" else None)
    kept = ["study", "arm", "seed", "env", "steps", "tricks", "numbers", "lr", "tuned", *SCORES, "algorithm"]
    return Frames(runs[kept], curves)


def short_name(tricks: str) -> str:
    """Flags by the nearest preset: `ppo − gae + bootstrap`; as they are if that is shorter."""
    on, names = tricks.replace(REINFORCE, "").split(), [tricks]
    for name, preset in PRESETS.items():
        gone = [f"− {each}" for each in preset.on if each not in on]
        more = [f"+ {each}" for each in on if each not in preset.on]
        names += [" ".join([name, *gone, *more])] * (name != REINFORCE)
    return min(names, key=len)


def of_comparison(folder: Path) -> Frames:
    """What `compare` wrote."""
    parts = [_table(folder / name).assign(study=folder.name) for name in ("runs.csv", "curves.csv.gz")]
    noted = parts[0].algorithm.astype(str) if "algorithm" in parts[0] else ""
    parts[0] = parts[0].assign(algorithm=noted)
    return Frames(*(part[["study", *part.columns.drop("study")]] for part in parts))


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
    diverged = diverged or {}
    grid = on_grid(curve, steps, diverged)
    counted = curve if "episodes" in curve else curve.assign(episodes=curve["return"].notna().astype(int))
    last = late(counted, steps, diverged).reindex(grid.index)
    stopped = [float(diverged.get(seed, np.nan)) for seed in grid.index]
    columns = {"seed": grid.index, "area": area(grid).to_numpy(), "late": last.to_numpy(), "diverged": stopped}
    return pd.DataFrame(columns)


def _table(path: Path) -> pd.DataFrame:
    try:
        return read_table(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
