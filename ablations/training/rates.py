"""Learning rates: every arm runs at its own, chosen on seeds that are never reported.

A single rate for all would mislead: at a small one clipping does nothing, and at a large one it decides between success
and collapse. A user's table can stand beside the package's: tuning goes there, and it comes first for arms that it has.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ablations.question.arms import flags, numbers
from ablations.training.tagged import check_sum, tagged, untagged
from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import Tricks
from tricks.runs.files import write_whole
from tricks.version import ALGORITHM

OWN_RATES = "learning_rates.csv"  # in a folder of the user's
TABLE = Path(__file__).parents[1] / OWN_RATES
GRID = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
FINALISTS = 3  # rates of an arm that are trained on twice as many seeds
KEY = ["env", "steps", "numbers", "tricks", "lr"]
COLUMNS = [*KEY, "area", "late", "seeds", "areas"]
TEXTS = dict.fromkeys(("env", "numbers", "tricks", "areas"), str)
EMPTY = {"area": "", "late": ""}  # no episode ended
UNTUNED = 0.003  # the rate of arms that were never tuned: the middle of the grid
FIXED = "fixed"  # the reservation about a rate that was given, not chosen

user_table: list[Path] = []  # empty if there is none
_arms: list[Any] = [None, {}]  # the table, and its rows by arm


def use(path: Path | None) -> None:
    """From here on, in this process, this is the user's table; None: there is none. It may not exist yet."""
    user_table[:] = [] if path is None or path.resolve() == TABLE.resolve() else [path]
    table.cache_clear()


@cache
def table() -> pd.DataFrame:
    """Every tuned score: env, steps, numbers, tricks, lr, seeds, area (mean over seeds), late (last tenth), areas.

    areas: one number per seed, separated by spaces; empty in older rows. An arm in the user's table has only those
    rows. Raises InputError if a file is damaged.
    """
    parts = [read_table(path) for path in (*user_table, TABLE)]
    return parts[0] if len(parts) == 1 else replaced_by(*parts)


def replaced_by(fresh: pd.DataFrame, before: pd.DataFrame) -> pd.DataFrame:
    """Both tables in one; of an arm that both have, the fresh rows."""
    arm = KEY[:-1]
    others = before[~before.set_index(arm).index.isin(fresh.set_index(arm).index)]
    return pd.concat([part for part in (fresh, others) if len(part)] or [fresh], ignore_index=True)


def read_table(path: Path) -> pd.DataFrame:
    """The rows of one file; none if it does not exist. Raises InputError if it is of another algorithm, or damaged."""
    try:
        text = path.read_bytes().decode()
        about, scores = untagged(text, dtype=TEXTS, keep_default_na=False, na_values=EMPTY)
        check_sum(text, about.get("sha256", ""))
    except FileNotFoundError:
        return pd.DataFrame(columns=COLUMNS)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        remedy = "restore it, or remove it and tune again"
        raise InputError(f"{path} is damaged or not a table of learning rates: {error}; {remedy}") from error
    if (algorithm := about.get("algorithm", ALGORITHM)) != ALGORITHM:
        now = f"and this version's is {ALGORITHM}; tune again, into another --rates-file"
        raise InputError(f"{path} holds learning rates that ALGORITHM {algorithm} chose, {now}")
    return scores[COLUMNS]


def rows_of(env: str, steps: int, given: str, tricks: str) -> pd.DataFrame:
    """An arm's rows, one per rate. given, tricks: as `arms.numbers` and `arms.flags` write them."""
    found = table()
    if _arms[0] is not found:
        _arms[:] = found, dict(iter(found.groupby(KEY[:-1], sort=False)))
    rows: pd.DataFrame = _arms[1].get((env, steps, given, tricks), found.iloc[:0])
    return rows


def best_of(rows: pd.DataFrame, score: str = "area") -> float:
    """The rate with the best mean of those with the most seeds; the others lost at a first look. NaN is the worst."""
    finalists = rows[rows.seeds == rows.seeds.max()].set_index("lr")
    return float(finalists[score].fillna(-np.inf).idxmax())


def best_by_mean(scores: Mapping[float, Sequence[float] | np.ndarray]) -> float:
    """The same, from the score of each tuning seed at each rate."""
    rows = [(lr, len(own), np.mean(own)) for lr, own in scores.items()]
    return best_of(pd.DataFrame(rows, columns=["lr", "seeds", "area"]))


def target() -> Path:
    return user_table[0] if user_table else TABLE


def store_table(fresh: pd.DataFrame) -> None:
    """Put rows into the table that tuning writes, in place of all that their arms had. InputError if that fails."""
    path = target()
    scores = replaced_by(fresh, read_table(path)).sort_values(KEY)  # another process may have stored rates meanwhile
    noted = {} if path == TABLE else {"algorithm": ALGORITHM}  # the package's own has rows of several
    write_whole(path, tagged({"rows": len(scores)} | noted, scores, digits=None))
    table.cache_clear()


class Rate(NamedTuple):
    """A learning rate, and a reservation about it, which is empty if the rate was tuned for exactly this setting."""

    value: float
    reservation: str = ""


NOT_TUNED = Rate(UNTUNED, "not tuned")


def best_rate(config: Config, tricks: Tricks, score: str = "area") -> Rate:
    """The rate with the best score, area or late, on the tuning seeds.

    Its reservation is empty if it was tuned for this budget; else it says for which, or that it was not tuned.
    """
    found = table()[table().tricks == flags(tricks, config.reward_sign)]
    every = found[(found.env == config.env) & (found.numbers == numbers(config, config.reward_sign))]
    if every.empty:
        return NOT_TUNED
    if (every.steps == config.steps).any():
        return Rate(best_of(every[every.steps == config.steps], score))
    return Rate(best_of(every[every.steps == every.steps.max()], score), f"tuned at {every.steps.max():,} steps")


def at_edge(env: str, steps: int, given: str, tricks: str, lr: float) -> bool:
    """Whether a tuned rate is the lowest or the highest that was tried, so a better may lie beyond. See `rows_of`."""
    tried = rows_of(env, steps, given, tricks).lr
    return bool(len(tried)) and lr in (tried.min(), tried.max())
