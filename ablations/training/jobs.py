"""A job, which is one stack of seeds to train, and the text format of its result."""

import hashlib
import json
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict

import msgspec
import pandas as pd

from ablations.design.flag_sets import as_trained
from ablations.training.curve_checks import fault
from ablations.training.own import Own, own_of
from ablations.training.tagged_csv import check_sum, tagged, untagged
from tricks import Config, Tricks
from tricks.config import PerSeed
from tricks.errors import InputError, in_words
from tricks.runs.learning_curve import COUNTS, DIAGNOSTICS, columns_of
from tricks.runs.provenance import VERSIONS, gpu_name, provenance
from tricks.version import ALGORITHM as ALGORITHM

if TYPE_CHECKING:
    from tricks import Run


@dataclass(frozen=True)
class Job:
    """One training run: a stack of seeds with the same numbers and flags."""

    config: Config
    tricks: Tricks
    own: Own | None = None
    """What comes from outside the packages: an environment, a net, or other functions of the user's."""

    def at(self, seeds: tuple[int, ...], lr: PerSeed) -> "Job":
        """The same for these seeds and at this learning rate, or at these, one for each seed."""
        return replace(self, config=replace(self.config, seeds=seeds, lr=lr))

    @property
    def what(self) -> dict[str, Any]:
        """Everything that the curve depends on, as plain values.

        Of the numbers, only those that are not the defaults: when `Config` gains a number, finished jobs stay finished.
        (When a default changes, curves do, too, so `ALGORITHM` must be raised.) Of the device, only its kind: a GPU
        rounds differently from a CPU, but a job may run on whichever GPU is free.
        """
        given = vars(as_trained(self.config, self.tricks)) | {"device": self.device}
        own = {f.name: given[f.name] for f in fields(self.config) if given[f.name] != f.default}
        config = own | {"env": self.config.env, "steps": self.config.steps, "seeds": self.config.seed_list}
        what = {"algorithm": ALGORITHM, "config": config, "tricks": self.tricks.on}
        if self.own is not None:
            what["own"] = self.own.fingerprint
        as_read_back: dict[str, Any] = json.loads(json.dumps(what))  # tuples become lists
        return as_read_back

    @property
    def device(self) -> str:
        """The kind of device that trains it: cpu or cuda."""
        return kind(self.config.device)

    @property
    def key(self) -> str:
        return self.key_by(ALGORITHM)

    def key_by(self, algorithm: int) -> str:
        """The key that it has, or had, by the library that this number of `ALGORITHM` stands for."""
        text = json.dumps(self.what | {"algorithm": algorithm}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def job_of(config: Config, tricks: Tricks) -> Job:
    """The job that trains these, with the user's module if one makes the environment: its text counts, too."""
    return Job(config, tricks, own_of(config))


def kind(device: str) -> str:
    """What counts of a device: cuda, of cuda:1."""
    return device.partition(":")[0]


Count = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class JobHeader(TypedDict):
    """The first line of a job's result file, and what it may hold: `provenance` and these."""

    what: dict[str, Any]  # `Job.what`
    rows: Count
    diverged: list[tuple[Count, Count]]  # pairs of a seed and a step
    seconds: Seconds
    steps: Count
    reasons: NotRequired[list[tuple[int, str]]]
    tricks: NotRequired[str | None]
    torch: NotRequired[str | None]
    numpy: NotRequired[str | None]
    numba: NotRequired[str | None]
    gymnasium: NotRequired[str | None]
    python: NotRequired[str | None]
    machine: NotRequired[str | None]
    commit: NotRequired[str | None]
    gpu: NotRequired[str]
    sha256: str


@dataclass(frozen=True)
class Result:
    """A finished job: its learning curve, and what the first line of its file says about the training."""

    curve: pd.DataFrame
    diverged: Mapping[int, int]
    """The step at which each diverged seed did so."""
    seconds: float
    steps: int
    """Environment steps of all seeds."""
    made_with: Mapping[str, str | None]
    """See `provenance`; and the model of the GPU if one was used."""


@dataclass(frozen=True)
class Finished:
    """The outcome of a job: the text of its result file, or the reason why it failed, in one line and in full."""

    text: str = ""
    error: str = ""
    detail: str = ""


def compute(job: Job) -> Finished:
    """Train one job. A result that could not be read back, such as one with infinite returns, is a failure."""
    from tricks import train

    start = time.perf_counter()
    try:
        with (job.own or Own()).in_place() as given:
            run = train(as_trained(job.config, job.tricks), job.tricks, **given)
        text = result_text(job, run, time.perf_counter() - start)
        parse_result(job, text)
        return Finished(text)
    except InputError as error:
        return Finished(error=str(error), detail=str(error))
    except Exception as error:
        return Finished(error=in_words(error), detail=traceback.format_exc())


def result_text(job: Job, run: "Run", seconds: float) -> str:
    """The text of a job's result file. seconds: how long the job took."""
    about = {
        "what": job.what,
        "rows": len(run.curve),
        "diverged": list(run.diverged.items()),
        "reasons": list(run.reasons.items()),
        "seconds": round(seconds, 2),
        "steps": int(run.curve.groupby("seed").step.max().sum()),
        **provenance(),
        **({"gpu": name} if (name := gpu_name(job.config.device)) else {}),
    }
    return tagged(about, run.curve, digits=6)


def parse_result(job: Job, text: str) -> Result:
    """Parse what `result_text` wrote. Diagnostics that are newer than the file are NaN.

    Raises ValueError, in one line, if the text is incomplete, was changed, or belongs to another job.
    """
    try:
        about, curve = untagged(text, JobHeader)
        columns = columns_of(job.config)
        if not set(columns) >= set(curve) >= set(columns) - set(DIAGNOSTICS):
            raise ValueError("its columns are not those of a curve")
    except ValueError as error:
        raise ValueError(f"it is not the result of a job: {error}") from error
    if about["what"] != job.what:
        raise ValueError("it belongs to another job")
    diverged, seeds = dict(about["diverged"]), job.config.seed_list
    # the last line can be cut off, too, and a truncated number still parses
    if len(curve) != about["rows"] or not text.endswith("\n"):
        raise ValueError("rows are missing or damaged")
    if found := fault(curve, seeds, about["steps"]):
        raise ValueError(f"rows are missing or damaged: {found}")
    if len(diverged) < len(about["diverged"]) or not set(diverged) <= set(seeds):
        raise ValueError("the seeds that diverged are not the job's")
    check_sum(text, about["sha256"])
    made_with = {name: about.get(name) for name in (*VERSIONS, *(["gpu"] if "gpu" in about else []))}
    curve = curve.reindex(columns=columns).astype({name: float for name in columns if name not in COUNTS})
    return Result(curve, diverged, about["seconds"], about["steps"], made_with)
