"""The table `learning_rates.csv` on disk: the score of every arm at every rate of the grid.

One ships with this package. A user's own table can stand beside it: new tuning goes there, and it comes first for the
arms that it has.

A first line `# {json}` holds the number of rows and a checksum, so that a table that was cut or changed is refused.
Elsewhere, read it with `pandas.read_csv(path, comment="#")`.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np
import pandas as pd

from ablations.training import jobs
from ablations.training.makers import told_by
from ablations.training.store import remove_partials
from ablations.training.tagged_csv import check_sum, tagged, untagged
from tricks.errors import InputError
from tricks.runs.files import write_whole

TABLE = Path(__file__).parents[1] / "learning_rates.csv"
GRID = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
FINALISTS = 3  # rates of an arm that are trained on twice as many seeds
KEY = ["env", "steps", "numbers", "tricks", "lr"]
COLUMNS = [*KEY, "area", "late", "seeds", "areas"]
TEXTS = dict.fromkeys(("env", "numbers", "tricks", "areas"), str)
EMPTY = {"area": "", "late": ""}  # no episode ended


class TableHeader(TypedDict):
    """The first line."""

    rows: int
    sha256: str
    algorithm: NotRequired[int]  # the `ALGORITHM` whose scores they are; of some tables nobody noted it


own: list[Path] = []  # the user's table, if there is one


def use(path: Path | None) -> None:
    """From here on, in this process, this is the user's table; None: there is none. It may not exist yet."""
    own[:] = [] if path is None or path.resolve() == TABLE.resolve() else [path]
    table.cache_clear()


@cache
def table() -> pd.DataFrame:
    """Every tuned score: environment, steps, numbers, flags, learning rate, mean area, mean last 10%, seeds, areas.

    `areas` is one number per seed, separated by spaces, or empty in rows from before they were kept. An arm in the
    user's table has only those rows. Raises InputError if a file is damaged.
    """
    parts = [read_table(path) for path in (*own, TABLE)]
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
        if (algorithm := told_by(text).get("algorithm", jobs.ALGORITHM)) != jobs.ALGORITHM:
            now = f"and this version's is {jobs.ALGORITHM}; tune again, into another --rates-file"
            raise InputError(f"{path} holds learning rates that ALGORITHM {algorithm} chose, {now}")
        return _parsed(text)[1]
    except FileNotFoundError:
        return pd.DataFrame(columns=COLUMNS)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        remedy = "restore it, or remove it and tune again"
        raise InputError(f"{path} is damaged or not a table of learning rates: {error}; {remedy}") from error


def rows_of(env: str, steps: int, given: str, tricks: str) -> pd.DataFrame:
    """An arm's rows, one per rate. given: its numbers, tricks: its flags, both as `flag_sets` writes them."""
    found = table()[table().tricks == tricks]
    return found[(found.env == env) & (found.steps == steps) & (found.numbers == given)]


def best_of(rows: pd.DataFrame, score: str = "area") -> float:
    """The rate with the best mean score, of those with the most seeds: the others lost at a first look."""
    finalists = rows[rows.seeds == rows.seeds.max()]
    return float(finalists.lr.to_numpy()[finalists[score].fillna(-np.inf).to_numpy().argmax()])


def target() -> Path:
    """The file that tuning writes: the user's, or this package's own."""
    return own[0] if own else TABLE


def store_table(scores: pd.DataFrame) -> None:
    """Replace the table that tuning writes. Raises InputError if it cannot be written."""
    path = target()
    remove_partials(path.parent)
    scores = scores.sort_values(KEY)
    noted = {} if _is_of_several(path) else {"algorithm": jobs.ALGORITHM}
    write_whole(path, tagged({"rows": len(scores)} | noted, scores, digits=None))
    table.cache_clear()


def _is_of_several(path: Path) -> bool:
    """Whether a table has rows from before algorithms were noted, as the package's own does."""
    try:
        return _parsed(path.read_bytes().decode())[0] is None
    except (OSError, ValueError):
        return False


def _parsed(text: str) -> tuple[int | None, pd.DataFrame]:
    """The algorithm and the rows of the table's text. Raises ValueError if it is not whole, or a row cannot be."""
    reading = {"dtype": TEXTS, "keep_default_na": False, "na_values": EMPTY}
    about, scores = untagged(text, TableHeader, **reading)
    if reason := _fault(scores):
        raise ValueError(reason)
    if len(scores) != about["rows"]:
        raise ValueError("rows are missing")
    check_sum(text, about["sha256"])
    return about.get("algorithm"), scores


def _fault(scores: pd.DataFrame) -> str:
    """What is wrong with the rows, in a few words; empty if nothing is."""
    if list(scores) != COLUMNS:
        return f"its columns are not {', '.join(COLUMNS)}"
    if any(scores[name].dtype.kind not in "if" for name in ("lr", "area", "late")) or scores.empty:
        return "a number is missing, or is none"
    if any(scores[name].dtype.kind != "i" or (scores[name] < 1).any() for name in ("steps", "seeds")):
        return "a budget or a number of seeds is not a positive whole number"
    if not scores.lr.between(0, 1, inclusive="right").all():
        return "a learning rate is not between 0 and 1"
    if np.isinf(scores[["area", "late"]].to_numpy()).any() or scores.env.eq("").any():
        return "a score is infinite, or an environment has no name"
    if scores.duplicated(KEY).any():
        return "a row is there twice"
    if not all(_agree(*row) for row in zip(scores.areas, scores.seeds, scores.area, strict=True)):
        return "the areas of a row are not those of its seeds"
    return ""


def joined(areas: Iterable[float]) -> str:
    """The scores of a row's seeds as text."""
    return " ".join(f"{area:.5g}" for area in areas)


def split(areas: str) -> np.ndarray:
    """The inverse of `joined`. Raises ValueError for anything else."""
    return np.array(areas.split(), dtype=float)


def _agree(areas: str, seeds: int, area: float) -> bool:
    """Whether there is one score per seed, with this mean."""
    if not areas:
        return True
    each = split(areas)
    return len(each) == seeds and bool(np.isclose(each.mean(), area, rtol=1e-3, equal_nan=True))
