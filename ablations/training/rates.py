"""Learning rates: every arm runs at its own, chosen on seeds that are never reported.

A single rate for all arms would be misleading: at a small rate clipping does nothing, and at a large one it decides
between success and collapse. The table `learning_rates.csv` holds the score at every rate of the grid, so it also shows
how robust an arm is to its rate.
"""

from typing import NamedTuple

import numpy as np

from ablations.design.flag_sets import flags, numbers
from ablations.training.rate_table import table
from tricks import Config, Tricks

UNTUNED = 0.003  # the rate of arms that were never tuned: the middle of the grid


class Rate(NamedTuple):
    """A learning rate, and a reservation about it, which is empty if the rate was tuned for exactly this setting."""

    value: float
    reservation: str = ""


NOT_TUNED = Rate(UNTUNED, "not tuned")
FIXED = "fixed"  # the reservation about a rate that was given, not chosen


def best_rate(config: Config, tricks: Tricks, score: str = "area") -> Rate:
    """The rate of the grid with the best `score`, area or late, on the tuning seeds.

    Its reservation is empty if it was tuned for this budget. Otherwise it says for which, or that it was not tuned.
    """
    every = table()
    every = every[(every.env == config.env) & (every.numbers == numbers(config)) & (every.tricks == flags(tricks))]
    if every.empty:
        return NOT_TUNED
    budget = config.steps if (every.steps == config.steps).any() else int(every.steps.max())
    every = every[every.steps == budget]
    scores = every[every.seeds == every.seeds.max()]  # the others were left behind after a first look
    best = float(scores.lr.to_numpy()[scores[score].fillna(-np.inf).to_numpy().argmax()])
    return Rate(best, "" if budget == config.steps else f"tuned at {budget:,} steps")


def at_edge(env: str, steps: int, given: str, tricks: str, lr: float) -> bool:
    """Whether a tuned rate is the lowest or the highest that was tried, so that a better one may lie beyond.

    given: the numbers, and tricks: the flags, as `flag_sets` writes them.
    """
    every = table()
    here = (every.env == env) & (every.steps == steps) & (every.numbers == given) & (every.tricks == tricks)
    tried = every.lr[here]
    return bool(len(tried)) and lr in (tried.min(), tried.max())
