"""A study as one file: a compressed CSV whose first line names its designs and says how its runs were made."""

import gzip
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NotRequired

import numpy as np
import pandas as pd

from ablations.analysis.joining import gathered, merged, refuse_mixed
from ablations.analysis.stored_designs import Named, StoredDesign, as_design, as_stored
from ablations.analysis.studies import COLUMNS, SHARES, About, Study
from ablations.design.flag_sets import flags, in_words, numbers
from ablations.design.registry import position
from ablations.training import jobs
from ablations.training.jobs import Job, kind
from ablations.training.makers import of_study
from ablations.training.rates import FIXED, Rate
from ablations.training.store import set_aside
from ablations.training.tagged_csv import check_sum, tagged, untagged
from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import Tricks
from tricks.runs.files import write_whole
from tricks.runs.provenance import unknown_to_us

SUFFIX = ".runs.csv.gz"
RESULTS = Path(__file__).parents[1] / "results"  # the studies that ship with this package
TEXTS = dict.fromkeys(("numbers", "tricks", "tuned"), str)
REINFORCE = "reinforce"  # in files, for the arm without any flag: others' readers take an empty text for a missing one
EMPTY = dict.fromkeys(("diverged", "late", *SHARES), "")  # where a number can be missing


class StudyHeader(About):
    """The first line of a study's file."""

    designs: list[StoredDesign | Named]
    sha256: NotRequired[str]


def save(study: Study, folder: Path) -> tuple[Study, Path]:
    """Write `<name>.runs.csv.gz`. Returns the study as it will be read back, with five digits, and the path.

    An existing file with more seeds is kept, and so is, under another name, one of another algorithm or one that cannot
    be read; a printed line says so.
    """
    about = study.about | {"designs": [as_stored(design) for design in study.designs]}
    text = tagged(about, study.runs.assign(tricks=study.runs.tricks.replace("", REINFORCE)), digits=5)
    path = folder / f"{study.name}{SUFFIX}"
    before = load_if_whole(path)
    if path.exists() and (before is None or before.algorithm != study.algorithm):
        why = "is of another ALGORITHM" if before else "cannot be read"
        by = f"algorithm{before.algorithm or '-older'}" if before else "unreadable"
        print(f"kept {path}, which {why}, as {set_aside(path, f'{by}-kept').name}")
        before = None
    first, end = before.about["seeds"] if before else study.about["seeds"]
    if end > study.about["seeds"][1]:
        print(f"kept {path}, which has seeds {first} to {end - 1}")
    else:
        write_whole(path, gzip.compress(text.encode(), mtime=0))
    return _parse(text, path), path


def save_again(again: Study, first: Study, folder: Path) -> Study:
    """Write what tries a study's effects again as `<name>_again.runs.csv.gz`. Returns it as it will be read back."""
    about = again.about.copy()
    about["confirms"] = first.name
    saved, _ = save(replace(again, name=f"{first.name}_again", about=about), folder)
    return saved


def refuse_another(path: Path, config: Config, arms: Sequence[Tricks] | None = None) -> None:
    """Raise InputError if the file holds another study of the same name: one that a new one would replace.

    That is one in another environment, with other numbers, on another backend, or with more arms. One of another
    algorithm is no obstacle, see `save`. arms: of the new study; None if they do not matter.
    """
    before = load_if_whole(path)
    if before is None or (before.algorithm and before.algorithm != str(jobs.ALGORITHM)):
        return
    if (before.env, before.steps) != (config.env, config.steps):
        where = f"on {before.env} with {before.steps:,} steps"
        raise InputError(f"{path} holds another study, {where}; choose another --out")
    own, made_with = before.runs.numbers.iloc[0], before.about["made with"]
    backends, devices = made_with.get("backend", [config.backend]), made_with.get("device", ["cpu"])
    if (own, backends, devices) != (numbers(config), [config.backend], [kind(config.device)]):
        how = f"with {own or 'the usual numbers'}, backend {', '.join(backends)}"
        how += f", device {', '.join(devices)}" if devices != [kind(config.device)] else ""
        raise InputError(f"{path} holds another study, {how}; choose another --out")
    lost = {arm.tricks for design in before.designs for arm in design.arms}.difference(arms or ())
    if arms is not None and lost:
        raise InputError(f"{path} holds another study, with arms that this one lacks; choose another --out")


def refuse_others(path: Path, rated: Mapping[Job, Rate]) -> None:
    """Raise InputError if the file has an arm at another rate than these jobs, with other code of the user's, or lost.

    For files of several settings; and what `refuse_another` does not see.
    """
    before = load_if_whole(path)
    if before is None or (before.algorithm and before.algorithm != str(jobs.ALGORITHM)):
        return
    code = sorted({job.own.fingerprint for job in rated if job.own})
    if code != before.about["made with"].get("own code", code):
        raise InputError(f"{path} was made with another version of your module; choose another --out")
    stored = before.runs[before.runs.tuned.ne(FIXED)].drop_duplicates(COLUMNS[:4])
    rates = {tuple(row[name] for name in COLUMNS[:4]): float(row["lr"]) for row in stored.to_dict("records")}
    for job, rate in rated.items():
        config = job.config
        lr = rates.get((config.env, config.steps, numbers(config), flags(job.tricks)), rate.value)
        if rate.reservation != FIXED and not np.isclose(lr, rate.value, rtol=1e-4):
            there = f"{in_words(job.tricks)} on {config.env} at learning rate {lr:g}, which is {rate.value:g} now"
            raise InputError(f"{path} holds {there}; choose another --out")


def load_if_whole(path: Path) -> Study | None:
    """The study that is there. What cannot be read is no obstacle, see `save`."""
    try:
        return load(path) if path.exists() else None
    except InputError:
        return None


def load(path: Path) -> Study:
    """The study that `save` wrote. Raises InputError if the file is missing, damaged, or of another version."""
    try:
        text = gzip.decompress(path.read_bytes()).decode()
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise _unusable(path, error) from error
    return _parse(text, path)


def _parse(text: str, path: Path) -> Study:
    try:
        found, runs = untagged(text, StudyHeader, dtype=TEXTS, keep_default_na=False, na_values=EMPTY)
        check_sum(text, found.pop("sha256", None))
        runs = runs.assign(tricks=runs.tricks.replace(REINFORCE, "")) if "tricks" in runs else runs
        designs = tuple(as_design(stored) for stored in found.pop("designs"))
        if reason := _fault(runs, found, bool(designs)):
            raise ValueError(reason)
    except (ValueError, InputError) as error:  # the latter: its tricks cannot be combined
        raise _unusable(path, error, text) from error
    return Study(path.name.removesuffix(SUFFIX), designs, runs, found)


def _fault(runs: pd.DataFrame, about: About, designed: bool) -> str:
    """What is wrong with a study, in a few words; empty if nothing is. designed: whether it has designs."""
    if list(runs) != COLUMNS or runs.empty:
        return "columns or rows are missing"
    numbers = runs[["lr", *EMPTY]]
    if any(runs[name].dtype.kind != "i" for name in ("steps", "seed")) or any(
        x.kind not in "if" for x in numbers.dtypes
    ):
        return "a number is missing, or is none"
    if np.isinf(numbers).any(axis=None) or (runs.diverged < 0).any():
        return "a return is infinite, or a step negative"
    if not (runs.lr > 0).all() or not (runs.steps > 0).all():
        return "a learning rate or a budget is not positive"
    first, end = about["seeds"]
    if (runs.seed < first).any() or not runs.seed.between(first, end - 1).any():
        return "the seeds are not those of its first line"
    arm = COLUMNS[: 4 if designed else 5]  # a trial may repeat another's arm at a fixed rate
    if runs.duplicated([*arm, "seed"]).any():
        return "a run is there twice"
    if designed and (runs[COLUMNS[:3]] != runs[COLUMNS[:3]].iloc[0]).any(axis=None):
        return "its runs are not of one environment, budget and set of numbers"
    if not 0 <= about["steps"] < np.inf or about["seconds"] < 0 or np.isinf(about["seconds"]):  # NaN: not known
        return "its time or its steps cannot be"
    return _games_fault(about)


def _games_fault(about: About) -> str:
    if len({"games", "run", "greedy"} & set(about)) not in (0, 3):
        return "its first line lacks a run or its games"
    played = [*about["games"]["trained"], *about["games"]["random"]] if "games" in about else []
    if len({len(row) for row in played}) > 1:
        return "its agents played different numbers of games"
    return "" if all(np.isfinite(row).all() for row in played) else "a score of a game is not finite"


def _unusable(path: Path, error: Exception, text: str = "") -> InputError:
    remedy = "the command that made it can rebuild it from its finished jobs"
    damaged = InputError(f"{path} is damaged or not a run file: {error}; {remedy}")
    return unknown_to_us(str(path), of_study(text), str(error), "run the command that made it again") or damaged


def load_all(folder: Path) -> list[Study]:
    """All studies in a folder, `merged` and `gathered`, in the order of the suites' environments, the worlds last.

    What confirms a study is its `again`, if no seed of it is among the study's own, and no rate was chosen anew in
    between: if seeds 0 to 9 were tried again on 10 to 19, and these have joined the study since, they confirm nothing.

    Raises InputError if a file is damaged, or if they are of different algorithms.
    """
    every = [load(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]
    refuse_mixed((study.name, study.algorithm) for study in every if study.kind != "games")
    again = {study.about["confirms"]: study for study in every if "confirms" in study.about}
    studies = merged([study for study in every if "confirms" not in study.about])
    studies = [replace(study, again=_elsewhere(study, again.get(study.name))) for study in studies]
    return sorted(gathered(studies), key=lambda study: (study.kind == "worlds", position(study.env)))


def _elsewhere(study: Study, again: Study | None) -> Study | None:
    """The second try, if all of its seeds are others, and its arms ran as they did in the first."""
    if again is None or set(again.runs.seed) & set(study.runs.seed):
        return None
    first, second = ({*found.runs[["numbers", "tricks", "lr"]].itertuples(index=False)} for found in (study, again))
    return again if second <= first else None
