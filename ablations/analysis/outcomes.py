"""The outcome of a trial: its two arms, their scores, and its row in the table of all trials."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ablations.analysis.stats import paired
from ablations.analysis.studies import SHARES, Study, grid
from ablations.design.flag_sets import flags, numbers
from ablations.design.trials import TRIALS, Trial


@dataclass(frozen=True)
class Side:
    """The runs of one arm of a trial."""

    runs: pd.DataFrame

    @property
    def lr(self) -> float:
        return float(self.runs.lr.iloc[0])

    def grid(self, steps: int) -> pd.DataFrame:
        """Returns on the common grid of steps, one row per seed."""
        return grid(self.runs, steps)


@dataclass(frozen=True)
class Outcome:
    """A trial and its two trained arms."""

    trial: Trial
    without: Side
    having: Side

    def scores(self, arm: Side) -> pd.Series:
        """An arm's score in the trial, one value per seed."""
        runs = arm.runs.set_index("seed").sort_index()
        return runs["late"] if self.trial.score == "late" else runs[SHARES].mean(axis=1)

    def row(self) -> dict[str, Any]:
        """The trial's row in the table: both means, and the paired difference with its 95% interval."""
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


def outcome(trial: Trial, runs: pd.DataFrame) -> Outcome | None:
    """Find the trial's two arms among the runs; None if either is missing."""
    config = trial.config
    here = runs[(runs.env == config.env) & (runs.steps == config.steps) & (runs.numbers == numbers(config))]
    sides = [Side(here[here.tricks == flags(arm)]) for arm in (trial.without, trial.having)]
    return Outcome(trial, *sides) if all(len(side.runs) for side in sides) else None


def outcomes(studies: Iterable[Study]) -> list[Outcome]:
    """What came of every trial that was trained, each from the first of the studies that has both its arms."""
    kept = [study.runs for study in studies if study.kind == "worlds"]
    found = (next(filter(None, (outcome(trial, runs) for runs in kept)), None) for trial in TRIALS)
    return [each for each in found if each]


def place(world: str, numbers: str) -> str:
    """The world, and the numbers that belong to a trick: `NoisyChain-v0, gae_lambda=0.0`."""
    own = [number for number in numbers.split() if number.split("=")[0] not in ("lanes", "horizon", "hidden", "gamma")]
    return ", ".join([world.removeprefix("tricks/"), *own])
