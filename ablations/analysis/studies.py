"""Runs as one frame, and a study as one file: what every table and figure is made from, with or without training.

A row is one training run of one seed: `env, steps, numbers, tricks, lr, tuned, seed, diverged, late`, and its return
at 1%, 2%, ... 100% of the budget. The file is a compressed CSV whose first line is `# {json}`: which designs were
asked for, by which command, and how the runs were made.
"""

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablations.design.designs import DESIGNS, Design
from ablations.training.jobs import Job, Result
from ablations.training.plan import Plan
from ablations.training.rates import numbers
from ablations.training.scores import POINTS, late, on_grid
from ablations.training.store import Store, write_whole
from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import Tricks

SHARES = [f"{k}%" for k in range(1, POINTS + 1)]
COLUMNS = ["env", "steps", "numbers", "tricks", "lr", "tuned", "seed", "diverged", "late", *SHARES]
SUFFIX = ".runs.csv.gz"
VERSIONS = ("tricks", "torch", "numpy", "gymnasium", "python", "machine", "commit")


@dataclass(frozen=True, eq=False)  # a study is itself, so that what is computed from it can be kept
class Study:
    """Runs, the designs that they belong to, and about them: the command, the versions, the time they took.

    The runs of a study with designs are all of one environment, budget and numbers.
    """

    name: str
    designs: tuple[Design, ...]
    runs: pd.DataFrame
    about: dict[str, Any]

    @property
    def env(self) -> str:
        return str(self.runs.env.iloc[0])

    @property
    def steps(self) -> int:
        return int(self.runs.steps.iloc[0])

    def of(self, tricks: Tricks) -> pd.DataFrame:
        """The runs of one arm, a row a seed; empty if there are none."""
        return self.runs[self.runs.tricks == " ".join(tricks.on)]

    def grid(self, tricks: Tricks) -> pd.DataFrame:
        """An arm's returns, a row a seed and a column a step."""
        return grid(self.of(tricks), self.steps)

    def missing(self, design: Design) -> list[str]:
        """The names of the design's arms that lack seeds which were asked for."""
        first, end = self.about["seeds"]
        return [arm.name for arm in design.arms if len(self.of(arm.tricks)) < end - first]


def grid(runs: pd.DataFrame, steps: int) -> pd.DataFrame:
    """The returns of some runs of one setting and arm: a row a seed, a column a step."""
    found = runs.set_index("seed")[SHARES].sort_index()
    return found.set_axis(np.linspace(steps / POINTS, steps, POINTS), axis=1)


def study_of(plan: Plan, store: Store, about: dict[str, Any]) -> Study:
    """What is there of a plan. Raises InputError if there is nothing."""
    read = ((job, tuned, store.read(job)) for job, tuned in plan.jobs.items())
    done = [(job, tuned, result) for job, tuned, result in read if result is not None]
    about = about | made(done) | {"seeds": [plan.seeds[0], plan.seeds[-1] + 1], "left out": plan.left_out}
    return Study(plan.name, plan.designs, gather(done, plan.seeds), about)


def made(done: Sequence[tuple[Job, str, Result]]) -> dict[str, Any]:
    """How long the results took all together, and with which versions and backends they were made."""
    totals = {name: round(sum(result.about[name] for _, _, result in done), 1) for name in ("seconds", "steps")}
    found = {key: sorted({str(r.about[key]) for _, _, r in done}) for key in VERSIONS}
    return totals | {"made with": found | {"backend": sorted({job.config.backend for job, _, _ in done})}}


def gather(done: Iterable[tuple[Job, str, Result]], seeds: Sequence[int]) -> pd.DataFrame:
    """The runs of finished jobs, each with what is to be said about its learning rate; only these seeds."""
    frames = [_rows(job, tuned, result) for job, tuned, result in done]
    if not frames:
        raise InputError("there are no results")
    runs = pd.concat(frames)
    return runs[runs.seed.isin(seeds)].reset_index(drop=True)


def _rows(job: Job, tuned: str, result: Result) -> pd.DataFrame:
    steps, diverged = job.config.steps, dict(result.about["diverged"])
    rows = on_grid(result.curve, steps, diverged).set_axis(SHARES, axis=1)
    rows["late"] = late(result.curve, steps, diverged)
    rows["seed"] = rows.index
    rows["diverged"] = rows.index.map(diverged).astype(float)
    facts: tuple[Any, ...] = (
        job.config.env,
        steps,
        numbers(job.config),
        " ".join(job.tricks.on),
        job.config.rates[0],
        tuned,
    )
    rows[COLUMNS[: len(facts)]] = facts
    return rows[COLUMNS]


def save(study: Study, folder: Path) -> tuple[Study, Path]:
    """Write `<name>.runs.csv.gz`; returns the study as it will be read back, with five digits, and the path.

    A file of that name that has more seeds stays, and a line says so.
    """
    about = study.about | {"designs": [[design.name, design.names] for design in study.designs]}
    text = f"# {json.dumps(about)}\n" + study.runs.to_csv(index=False, float_format="%.5g")
    path = folder / f"{study.name}{SUFFIX}"
    before = _before(path)
    first, end = before.about["seeds"] if before else study.about["seeds"]
    if end > study.about["seeds"][1]:
        print(f"kept {path}, which has seeds {first} to {end - 1}")
    else:
        write_whole(path, gzip.compress(text.encode(), mtime=0))
    return _parse(text, path), path


def refuse_another(path: Path, config: Config) -> None:
    """Raises InputError if the file holds a study of the same name with other numbers, or of another backend."""
    before = _before(path)
    if before is None:
        return
    own, backends = before.runs.numbers.iloc[0], before.about["made with"].get("backend", [config.backend])
    if (own, backends) != (numbers(config), [config.backend]):
        how = f"with {own or 'the usual numbers'}, backend {', '.join(backends)}"
        raise InputError(f"{path} holds another study, {how}; choose another --out")


def _before(path: Path) -> Study | None:
    """What would be overwritten; a damaged file is no loss, it is written again from the jobs."""
    try:
        return load(path) if path.exists() else None
    except InputError:
        return None


def load(path: Path) -> Study:
    """The study that `save` wrote. Raises InputError if the file is missing or damaged."""
    try:
        text = gzip.decompress(path.read_bytes()).decode()
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise _damaged(path, error) from error
    return _parse(text, path)


def _parse(text: str, path: Path) -> Study:
    try:
        first, _, rest = text.partition("\n")
        about = json.loads(first.removeprefix("# "))
        texts = dict.fromkeys(("numbers", "tricks", "tuned"), str)
        runs = pd.read_csv(io.StringIO(rest), dtype=texts, keep_default_na=False, na_values=dict.fromkeys(NUMERIC, ""))
        if list(runs) != COLUMNS or runs.empty:
            raise ValueError("columns or rows are missing")
        if missing := {"designs", "command", "seconds", "steps", "made with", "seeds"} - set(about):
            raise ValueError(f"it does not say its {', '.join(sorted(missing))}")
        designs = tuple(DESIGNS[name](names) for name, names in about.pop("designs"))
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, error) from error
    return Study(path.name.removesuffix(SUFFIX), designs, runs, about)


def _damaged(path: Path, error: Exception) -> InputError:
    again = "the command that made it writes it again from its finished jobs"
    return InputError(f"{path} is no file of runs, or damaged: {error}; {again}")


def load_all(folder: Path) -> list[Study]:
    """The studies of all files of runs in a folder, `merged`, the worlds last. Raises InputError if one is damaged."""
    paths = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: (path.name.startswith("worlds"), path.name))
    return merged([load(path) for path in paths])


def merged(studies: Sequence[Study]) -> list[Study]:
    """Studies that differ in nothing but their seeds, as one: seeds 0 to 9 of today, 10 to 29 of tomorrow.

    A name that ends in the first seed, `_from10`, goes with the one without; their seeds must not leave a gap, and
    every arm must have run at the same learning rate.
    """
    found: dict[str, Study] = {}
    for study in sorted(studies, key=lambda study: study.about["seeds"][0]):
        name = re.sub(r"_from\d+$", "", study.name)
        before = found.get(name)
        if before is not None and _continues(before, study):
            found[name] = _joined(before, study)
        else:
            found[study.name] = study
    return list(found.values())


def _continues(one: Study, other: Study) -> bool:
    facts = ["env", "steps", "numbers", "tricks", "lr", "tuned"]
    alike = one.runs[facts].drop_duplicates().merge(other.runs[facts].drop_duplicates(), how="outer", indicator=True)
    return bool(
        one.designs == other.designs
        and one.about["made with"].get("backend") == other.about["made with"].get("backend")
        and one.about["seeds"][1] == other.about["seeds"][0]
        and (alike["_merge"] == "both").all()
    )


def _joined(one: Study, other: Study) -> Study:
    about: dict[str, Any] = {name: one.about[name] + other.about[name] for name in ("seconds", "steps")}
    about["command"] = f"{one.about['command']}; {other.about['command']}"
    about["seeds"] = [one.about["seeds"][0], other.about["seeds"][1]]
    both, last = one.about["made with"], other.about["made with"]
    about["made with"] = {key: sorted({*both.get(key, ()), *last.get(key, ())}) for key in both | last}
    runs = pd.concat([one.runs, other.runs], ignore_index=True)
    return Study(one.name, one.designs, runs, one.about | about)


NUMERIC = ["diverged", "late", *SHARES]
