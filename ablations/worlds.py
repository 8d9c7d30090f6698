"""`python -m ablations worlds`: each trick in the world that was made for it, with and without, paired by seed."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablations.designs import tricks_named
from ablations.plan import made
from ablations.rates import best_rate, numbers, tune
from ablations.report import markdown
from ablations.run import blocks, run_jobs
from ablations.runs import SHARES, Study, gather, grid, name_of, save
from ablations.stats import paired
from ablations.store import Job, Store, write_whole
from ablations.trials import TRIALS, Trial
from tricks import Tricks
from tricks.core.errors import InputError

SCORES = {"area": "area under the curve", "late": "last 10%"}
SEEN = {1: "up", -1: "down", 0: "no detectable effect"}


@dataclass(frozen=True)
class Options:
    """Which trials, and where the results go."""

    tricks: str = ""
    """Only the trials of these tricks: baseline,clip. Default: all."""
    seeds: str = "10"
    """A count (10: seeds 0 to 9) or a range (10:30: seeds 10 to 29)."""
    tune: bool = False
    """Choose the learning rates of all arms first, on tuning seeds."""
    workers: int = 0
    """Worker processes; 0 is one a core."""
    out: Path = Path("runs/ablations")
    """Folder for results, table and figure."""


@dataclass(frozen=True)
class Side:
    """The runs of one arm of a trial."""

    runs: pd.DataFrame

    @property
    def lr(self) -> float:
        return float(self.runs.lr.iloc[0])

    def grid(self, steps: int) -> pd.DataFrame:
        """Returns on the common grid of steps, a row a seed."""
        return grid(self.runs, steps)


@dataclass(frozen=True)
class Outcome:
    """A trial with its two arms, trained."""

    trial: Trial
    without: Side
    having: Side

    def scores(self, arm: Side) -> pd.Series:
        """The trial's score, a value a seed."""
        runs = arm.runs.set_index("seed").sort_index()
        return runs["late"] if self.trial.score == "late" else runs[SHARES].mean(axis=1)

    def row(self) -> dict[str, Any]:
        """The table's row: both means, and the paired difference with its 95% interval."""
        without, having = self.scores(self.without), self.scores(self.having)
        found, both = paired((having - without).to_numpy()), pd.concat([self.without.runs, self.having.runs])
        return {
            "trick": self.trial.trick,
            "world": self.trial.env,
            "numbers": numbers(self.trial.config),
            "others": " ".join(self.trial.others),
            "score": self.trial.score,
            "steps": self.trial.config.steps,
            "lr_without": self.without.lr,
            "lr_with": self.having.lr,
            "without": without.mean(skipna=False),
            "with": having.mean(skipna=False),
            "difference": found.mean,
            "low": found.low,
            "high": found.high,
            "p": found.p,
            "predicted": self.trial.predicted,
            "seen": int(found.low > 0) - int(found.high < 0),
            "diverged": int(both.diverged.notna().sum()),
            "seeds": len(without),
            "tuned": "; ".join(sorted({*both.tuned} - {""})),
        }


def main(chosen: Options, seeds: Sequence[int], workers: int, about: dict[str, Any]) -> int:
    """Train what is missing, then print and save the table and the figure; the exit status."""
    trials, store, start = picked(chosen.tricks), Store(chosen.out / "jobs"), time.perf_counter()
    if chosen.tune:
        tune([(t.config, arm) for t in trials for arm in (t.without, t.having)], store, workers)
    jobs = {job: tuned for t in trials for arm in (t.without, t.having) for job, tuned in _jobs(t, arm, seeds)}
    done = sum(store.read(job) is not None for job in jobs)
    print(f"{len(trials)} trials, {len(seeds)} seeds: {len(jobs)} jobs, {done} of them done before", flush=True)
    failed = run_jobs(list(jobs), store, workers)
    if failed:
        raise InputError(f"{len(failed)} of {len(jobs)} jobs failed: {next(iter(failed.values()))}")
    results = [(job, tuned, result) for job, tuned in jobs.items() if (result := store.read(job))]
    about = about | made(results) | {"seeds": [seeds[0], seeds[-1] + 1]}
    name = name_of("worlds", chosen.tricks.replace(",", "-"), first=seeds[0])
    study, path = save(Study(name, (), gather(results, seeds), about), chosen.out)
    text, paths = write(study, chosen.out)
    print(f"\n{text}\n\n{time.perf_counter() - start:.0f} seconds; wrote {', '.join(str(p) for p in [path, *paths])}")
    return 0


def write(study: Study, folder: Path) -> tuple[str, list[Path]]:
    """The table as text, and it, its CSV and the figure in the folder, of the trials that the study has."""
    from ablations.plot import worlds_figure

    outcomes = [found for trial in TRIALS if (found := outcome(trial, study.runs))]
    if not outcomes:
        raise InputError(f"{study.name} has no runs of any trial")
    frame, path = pd.DataFrame([outcome.row() for outcome in outcomes]), folder / study.name
    text = f"{as_text(frame)}\n\n{caption(frame)}"
    frame.to_csv(path.with_suffix(".csv"), index=False, float_format="%.6g")
    write_whole(path.with_suffix(".md"), text + "\n")
    words = [_in_words(row) for row in frame.to_dict("records")]
    figures = worlds_figure(outcomes, words, rates_in_words(frame), path)
    return text, [path.with_suffix(".csv"), path.with_suffix(".md"), *figures]


def outcome(trial: Trial, runs: pd.DataFrame) -> Outcome | None:
    """The trial's two arms among the runs, or None if one of them is not there."""
    config = trial.config
    here = runs[(runs.env == config.env) & (runs.steps == config.steps) & (runs.numbers == numbers(config))]
    sides = [Side(here[here.tricks == " ".join(arm.on)]) for arm in (trial.without, trial.having)]
    return Outcome(trial, *sides) if all(len(side.runs) for side in sides) else None


def picked(names: str) -> list[Trial]:
    """The trials of the tricks in a comma-separated list, or all.

    Raises InputError for a name that is no trick, or has no trial.
    """
    wanted, known = tricks_named(names) if names else [], list(dict.fromkeys(trial.trick for trial in TRIALS))
    if without := [name for name in wanted if name not in known]:
        raise InputError(f"there is no world for {', '.join(without)}; there are for {', '.join(known)}")
    return [trial for trial in TRIALS if not wanted or trial.trick in wanted]


def _jobs(trial: Trial, arm: Tricks, seeds: Sequence[int]) -> list[tuple[Job, str]]:
    lr, reservation = best_rate(trial.config, arm, trial.score)
    return [(Job(replace(trial.config, seeds=block, lr=lr), arm), reservation) for block in blocks(seeds)]


def as_text(frame: pd.DataFrame) -> str:
    """The table as Markdown."""
    lines = [("trick", "world", "score", "without (rate)", "with (rate)", "difference", "predicted", "seen")]
    for row in frame.to_dict("records"):
        span = f" [{row['low']:+.4g}, {row['high']:+.4g}]" if np.isfinite(row["low"]) else ""
        lines.append(
            (
                row["trick"],
                place(row["world"], row["numbers"]),
                SCORES[row["score"]],
                f"{row['without']:.4g} ({row['lr_without']:g})",
                f"{row['with']:.4g} ({row['lr_with']:g})",
                f"{row['difference']:+.4g}{span}" + (f", {row['diverged']} diverged" if row["diverged"] else ""),
                SEEN[row["predicted"]],
                SEEN[row["seen"]] if span else "",
            )
        )
    return markdown(lines)


def place(world: str, numbers: str) -> str:
    """The world, and those of its numbers that are a trick's: `NoisyChain-v0, gae_lambda=0.0`."""
    own = [number for number in numbers.split() if number.split("=")[0] not in ("lanes", "horizon", "hidden", "gamma")]
    return ", ".join([world.removeprefix("tricks/"), *own])


def _in_words(row: dict[Any, Any]) -> str:
    """Above a panel: the world, what was predicted, and what was seen where there are seeds enough."""
    found = f"seen {SEEN[row['seen']]}" if row["seen"] else "none detected"
    seen = f"; {found}" if np.isfinite(row["low"]) else ""
    return f"{place(row['world'], row['numbers'])}\npredicted {SEEN[row['predicted']]}{seen}"


def tally(frame: pd.DataFrame) -> str:
    """How many trials came out as predicted, in a sentence; empty with too few seeds to see anything."""
    judged = frame[frame.low.notna()]
    if judged.empty:
        return ""
    as_said, nothing = (judged.seen == judged.predicted).sum(), (judged.seen == 0).sum()
    against = len(judged) - as_said - nothing
    tried, confirmed = (part.trick.nunique() for part in (judged, judged[judged.seen == judged.predicted]))
    return (
        f"Of {len(judged)} trials, {as_said} came out as predicted, in {nothing} nothing is detected, and "
        f"{against or 'none'} came out the other way; of {tried} tricks, {confirmed} have a trial that came out as "
        "predicted."
    )


def caption(frame: pd.DataFrame) -> str:
    """What the table shows, in words."""
    text = f"Each trick in a world that was made for it, {frame.seeds.max()} seeds an arm, the arms alike but for the"
    text += f" trick and {rates_in_words(frame)}. Difference: with minus without, paired by seed"
    if frame.low.notna().any():
        text += ", with its 95% interval (Student's t), not corrected for the number of rows"
    text += ". Scores are in each world's own units of return, per episode. The CSV has the flags that both arms share."
    if frame[["without", "with"]].isna().any(axis=None):
        text += " nan: in some seed no episode ended in time."
    return f"{tally(frame)} {text}".strip()


def rates_in_words(frame: pd.DataFrame) -> str:
    """At which learning rates the arms ran."""
    reservations = sorted(set(frame.tuned) - {""})
    own = "each at its own best learning rate of a grid, chosen on other seeds"
    return own if not reservations else f"some at learning rates that were {', '.join(reservations)}"
