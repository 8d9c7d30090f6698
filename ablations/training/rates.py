"""Learning rates: every arm runs at its own, chosen on seeds that are never reported.

A single rate for all arms would be misleading: at a small rate clipping does nothing, and at a large one it decides
between success and collapse. The table `learning_rates.csv` holds the score at every rate of the grid, so it also shows
how robust an arm is to its rate.
"""

from collections.abc import Collection
from typing import NamedTuple

from ablations.design.flag_sets import flags, numbers
from ablations.training.rate_table import best_of, rows_of, table
from ablations.training.seed_ranges import ONCE_TUNED
from tricks import Config, InputError, Tricks

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
    reservation = "" if budget == config.steps else f"tuned at {budget:,} steps"
    return Rate(best_of(every[every.steps == budget], score), reservation)


def refuse_tuned_on(config: Config, tricks: Tricks, seeds: Collection[int]) -> None:
    """Raise InputError if the arm's rate was chosen on some of these seeds, as those were whose scores nobody kept."""
    every = table()
    every = every[(every.env == config.env) & (every.numbers == numbers(config)) & (every.tricks == flags(tricks))]
    if every.areas.eq("").any() and not set(seeds).isdisjoint(ONCE_TUNED):
        first, last = ONCE_TUNED[0], ONCE_TUNED[-1]
        raise InputError(f"seeds {first} to {last} chose learning rates in {config.env}; name others to be reported")


def at_edge(env: str, steps: int, given: str, tricks: str, lr: float) -> bool:
    """Whether a tuned rate is the lowest or the highest that was tried, so that a better one may lie beyond.

    given and tricks as for `rows_of`.
    """
    tried = rows_of(env, steps, given, tricks).lr
    return bool(len(tried)) and lr in (tried.min(), tried.max())
