"""A job, which is one stack of seeds to train; what of it is the user's own code; and its result."""

import hashlib
import json
import pickle
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd

from ablations.question.words import file_of
from tricks.config import Config, PerSeed
from tricks.errors import InputError, in_words
from tricks.ladder import Tricks, own_files
from tricks.runs.provenance import MadeWith, changed, provenance_of_a_run
from tricks.version import ALGORITHM

OURS = ("tricks", "ablations")  # packages whose code `version.ALGORITHM` stands for


@dataclass(frozen=True)
class Own:
    """The user's functions, as they go to worker processes."""

    pickled: bytes  # two mappings: `env` and `body`, as for `train`, and those that stand in for ours, as for `patched`
    fingerprint: str  # a hash of them and of all that their files say, by which finished jobs are found again


def own_of(config: Config, replaced: Mapping[str, Callable[..., Any]] | None = None, **functions: Any) -> Own | None:
    """The user's part of a job; None if there is none: everything is ours, Gymnasium's or another package's.

    replaced: functions that stand in for ours, by name. functions: `env` and `body`, as for `train`, or None. The
    user's modules, of an environment `module:Id` and of wrappers, count, too. InputError for what cannot be pickled.
    """
    modules = [name.partition(":")[0] for name in (config.env, *config.wrap) if ":" in name]
    given, others = {name: each for name, each in functions.items() if each}, replaced or {}
    files = {*map(file_of, [*given.values(), *others.values()]), *map(_module_file, modules)} - {None}
    if not (given or others or files):
        return None
    try:
        pickled = bytes(cloudpickle.dumps((given, others)))
    except Exception as error:  # whatever an object's own method raises
        names = ", ".join([*given, *others])
        raise InputError(f"{names} cannot be sent to worker processes: {in_words(error)}") from error
    texts = [Path(path).read_bytes() for path in sorted(map(str, files))]
    return Own(pickled, hashlib.sha256(b"".join([pickled, *texts])).hexdigest()[:16])


def _module_file(name: str) -> str | None:
    """The file of the user's own module; None of an installed one, whose version counts, and of one of ours."""
    found = None
    if name and name.split(".")[0] not in OURS:
        with suppress(ImportError, ValueError):
            found = getattr(sys.modules.get(name), "__file__", None) or getattr(find_spec(name), "origin", None)
    return None if found is None or "site-packages" in found or not Path(found).is_file() else found


@dataclass(frozen=True)
class Job:
    """One training run: a stack of seeds with the same numbers and flags."""

    config: Config
    tricks: Tricks
    own: Own | None = None  # what comes from outside the packages: an environment, a net, other functions

    def at(self, seeds: tuple[int, ...], lr: PerSeed) -> "Job":
        """The same for these seeds and at this learning rate, or at these, one for each seed."""
        return replace(self, config=replace(self.config, seeds=seeds, lr=lr))

    @property
    def what(self) -> dict[str, Any]:
        """Everything that the curve depends on, as plain values.

        Of the numbers, only those that are not the defaults: when `Config` gains a number, finished jobs stay finished.
        (When a default changes, `ALGORITHM` must be raised.) Of the device, only its kind: one kind rounds alike.
        """
        given = vars(self.config) | {"device": self.device}
        own = {f.name: given[f.name] for f in fields(self.config) if given[f.name] != f.default}
        config = own | {"env": self.config.env, "steps": self.config.steps, "seeds": self.config.seed_list}
        what = {"algorithm": ALGORITHM, "config": config, "tricks": self.tricks.on}
        what |= {"own": self.own.fingerprint} if self.own else {}
        what |= {"files": files} if (files := own_files(self.tricks)) else {}
        return dict(json.loads(json.dumps(what)))  # as it will be read back: tuples become lists

    @property
    def device(self) -> str:
        """The kind of device that trains it: cpu or cuda."""
        return self.config.device.partition(":")[0]

    @property
    def key(self) -> str:
        """What it is stored by. A tree with changes, which `ALGORITHM` does not know, has keys of its own."""
        text = json.dumps(self.what | ({"changes": changed()} if changed() else {}), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Result:
    """A finished job: its learning curve, and facts about the training."""

    curve: pd.DataFrame
    diverged: Mapping[int, int]  # the step at which each diverged seed did so
    seconds: float
    steps: int  # environment steps of all seeds
    made_with: MadeWith  # see `provenance_of_a_run`


def compute(job: Job) -> Result | str:
    """Train one job. Returns its result, or why it has none: infinite returns, which have no score, are a failure."""
    from tricks import train
    from tricks.replaced import patched

    start = time.perf_counter()
    try:
        given, replaced = pickle.loads(job.own.pickled) if job.own else ({}, {})
        with patched(**replaced):
            run = train(job.config, job.tricks, **given)
    except Exception as error:
        return in_words(error)
    if np.isinf(run.curve[["return", "length"]]).any(axis=None):
        return "a return or a length is infinite"
    steps, seconds = int(run.curve.groupby("seed").step.max().sum()), round(time.perf_counter() - start, 2)
    made = provenance_of_a_run(job.config.device)
    made["device"] = str(made["device"]).replace(job.config.device, job.device)  # whichever GPU was free
    return Result(run.curve, run.diverged, seconds, steps, made)
