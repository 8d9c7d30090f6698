"""What came of a trial: its two arms with their scores, and the table of all trials in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ablations.rates import numbers
from ablations.report import markdown
from ablations.runs import SHARES, grid
from ablations.stats import paired
from ablations.trials import Trial

SCORES = {"area": "area under the curve", "late": "last 10%"}
SEEN = {1: "up", -1: "down", 0: "no detectable effect"}


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


def outcome(trial: Trial, runs: pd.DataFrame) -> Outcome | None:
    """The trial's two arms among the runs, or None if one of them is not there."""
    config = trial.config
    here = runs[(runs.env == config.env) & (runs.steps == config.steps) & (runs.numbers == numbers(config))]
    sides = [Side(here[here.tricks == " ".join(arm.on)]) for arm in (trial.without, trial.having)]
    return Outcome(trial, *sides) if all(len(side.runs) for side in sides) else None


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


def in_words(row: dict[Any, Any]) -> str:
    """Above a panel: the world, what was predicted, and what was seen where there are seeds enough."""
    found = f"seen {SEEN[row['seen']]}" if row["seen"] else "none detected"
    seen = f"; {found}" if np.isfinite(row["low"]) else ""
    return f"{place(row['world'], row['numbers'])}\npredicted {SEEN[row['predicted']]}{seen}"


def tally(frame: pd.DataFrame) -> str:
    """How many trials came out as predicted, in a sentence; empty with too few seeds to see anything."""
    judged = frame[frame.low.notna()]
    if judged.empty:
        return ""
    right, nothing = judged[judged.seen == judged.predicted], (judged.seen == 0).sum()
    wrong = len(judged) - len(right) - nothing
    return (
        f"Of {len(judged)} trials, {len(right)} came out as predicted, in {nothing} nothing is detected, and "
        f"{wrong or 'none'} came out the other way; of {judged.trick.nunique()} tricks, {right.trick.nunique()} have a "
        "trial that came out as predicted."
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
