"""`python -m ablations worlds`: each trick in the world that was made for it, with and without, paired by seed."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablations.rates import best_rate, numbers, tune
from ablations.report import Trained, markdown, save
from ablations.run import blocks, run_jobs
from ablations.stats import area, late, on_grid, paired_interval
from ablations.store import Job, Store
from ablations.trials import TRIALS, Trial
from tricks import Tricks
from tricks.core.errors import InputError
from tricks.ladder import NEEDS

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
class Outcome:
    """A trial with its two arms, trained."""

    trial: Trial
    without: Trained
    having: Trained

    def scores(self, arm: Trained) -> pd.Series:
        """The trial's score, a value a seed."""
        steps = self.trial.config.steps
        if self.trial.score == "late":
            return late(arm.curve, steps, arm.diverged)
        return area(on_grid(arm.curve, steps, arm.diverged))

    def row(self) -> dict[str, Any]:
        """The table's row: both means, and the paired difference with its 95% interval."""
        without, having = self.scores(self.without), self.scores(self.having)
        difference = (having - without).to_numpy()
        low, high = paired_interval(difference)
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
            "difference": difference.mean(),
            "low": low,
            "high": high,
            "predicted": self.trial.predicted,
            "seen": int(low > 0) - int(high < 0),
            "diverged": len(self.without.diverged) + len(self.having.diverged),
            "seeds": len(difference),
            "tuned": "; ".join(sorted({self.without.tuned, self.having.tuned} - {""})),
        }


def main(chosen: Options, seeds: Sequence[int], workers: int) -> int:
    """Train what is missing, then print and save the table and the figure; the exit status."""
    from ablations.plot import worlds_figure

    trials, store, start = picked(chosen.tricks), Store(chosen.out / "jobs"), time.perf_counter()
    if chosen.tune:
        tune([(t.config, arm) for t in trials for arm in (t.without, t.having)], store, workers)
    jobs = {(t, arm): _jobs(t, arm, seeds) for t in trials for arm in (t.without, t.having)}
    every = list(dict.fromkeys(job for of_arm in jobs.values() for job, _ in of_arm))
    done = sum(store.read(job) is not None for job in every)
    print(f"{len(trials)} trials, {len(seeds)} seeds: {len(every)} jobs, {done} of them done before", flush=True)
    failed = run_jobs(every, store, workers)
    if failed:
        raise InputError(f"{len(failed)} of {len(every)} jobs failed: {next(iter(failed.values()))}")
    outcomes = [Outcome(t, *(_trained(jobs[t, arm], store) for arm in (t.without, t.having))) for t in trials]
    frame = pd.DataFrame([outcome.row() for outcome in outcomes])
    text = f"{as_text(frame)}\n\n{caption(frame)}"
    path = chosen.out / "worlds"
    words = [_in_words(row) for row in frame.to_dict("records")]
    paths = [*save(frame, text, path), *worlds_figure(outcomes, words, rates_in_words(frame), path)]
    print(f"\n{text}\n\n{time.perf_counter() - start:.0f} seconds; wrote {', '.join(str(p) for p in paths)}")
    return 0


def picked(names: str) -> list[Trial]:
    """The trials of the tricks in a comma-separated list, or all. Raises InputError for a name that is no trick."""
    wanted = [name.strip() for name in names.split(",")] if names else []
    unknown = [name for name in wanted if name not in NEEDS]
    if unknown:
        raise InputError(f"unknown trick {', '.join(unknown)}; the tricks are {', '.join(NEEDS)}")
    return [trial for trial in TRIALS if not wanted or trial.trick in wanted]


def _jobs(trial: Trial, arm: Tricks, seeds: Sequence[int]) -> list[tuple[Job, str]]:
    lr, reservation = best_rate(trial.config, arm, trial.score)
    return [(Job(replace(trial.config, seeds=block, lr=lr), arm), reservation) for block in blocks(seeds)]


def _trained(jobs: list[tuple[Job, str]], store: Store) -> Trained:
    results = [result for job, _ in jobs if (result := store.read(job)) is not None]
    job, reservation = jobs[0]
    return Trained(job.tricks, job.config.lr, reservation, results)


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


def caption(frame: pd.DataFrame) -> str:
    """What the table shows, in words."""
    text = f"Each trick in a world that was made for it, {frame.seeds.max()} seeds an arm, the arms alike but for the"
    text += f" trick and {rates_in_words(frame)}. Difference: with minus without, paired by seed"
    if frame.low.notna().any():
        text += ", with its 95% interval (Student's t), not corrected for the number of rows"
    text += ". Scores are in each world's own units of return, per episode. The CSV has the flags that both arms share."
    if frame[["without", "with"]].isna().any(axis=None):
        text += " nan: in some seed no episode ended in time."
    return text


def rates_in_words(frame: pd.DataFrame) -> str:
    """At which learning rates the arms ran."""
    reservations = sorted(set(frame.tuned) - {""})
    own = "each at its own best learning rate of a grid, chosen on other seeds"
    return own if not reservations else f"some at learning rates that were {', '.join(reservations)}"
