"""The learning curve as a table: its columns, its file, the score at the end of training, and its interval."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from tricks import ladder
from tricks.config import Config
from tricks.errors import InputError
from tricks.texts import recorded

# on every rung; tricks add more
OWN = ("policy_loss", "entropy", "grad_norm", "learning_rate", "eval_return", "reward")
# these come first, in the order of the stored curves
LED = (
    *("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "max_ratio", "explained_variance"),
    *("grad_norm", "auxiliary_loss", "clone_kl", "policy_age", "value_age"),
)
OF_BOX = ("action_std", "action_clip_fraction")  # on every rung, if actions are Box; these come last
DIAGNOSTICS = tuple(dict.fromkeys([*LED, *OWN, *chain(*ladder.DIAGNOSTICS.values()), *OF_BOX]))
COLUMNS = ("seed", "update", "step", "episodes", "return", "length", *DIAGNOSTICS)
NAMES = ("study", "arm", "env")  # of a run, where a table has several
COUNTS = ("seed", "update", "step", "episodes")  # integer columns
MAJOR, MINOR = map(int, pd.__version__.split(".")[:2])
EXACT: dict[str, Any] = {} if (MAJOR, MINOR) >= (3, 1) else {"float_precision": "round_trip"}  # else off by a bit
FEWEST = 5  # minimum number of seeds for an interval


def columns_of(config: Config) -> tuple[str, ...]:
    """All columns of a run's curve, those that it records last. Raises InputError for one that is there already."""
    for taken, who in ((COLUMNS, "every curve has"), (NAMES, "tables of several runs have")):
        if own := [name for name in recorded(config.record) if name in taken]:
            raise InputError(f"record: {who} a column {own[0]!r}, so info's {own[0]!r} cannot be one")
    return (*COLUMNS, *recorded(config.record))


def as_curve(rows: np.ndarray, columns: Sequence[str], origin: Mapping[str, Any]) -> pd.DataFrame:
    """Rows [R, columns] as a table, sorted by seed and update; origin: its attributes, see `Run`."""
    curve = pd.DataFrame(rows, columns=list(columns)).astype(dict.fromkeys(COUNTS, int))
    curve.attrs = dict(origin.items())
    return curve.sort_values(["seed", "update"], ignore_index=True)


def late_return(curve: pd.DataFrame, steps: int, share: float = 0.1, column: str = "return") -> pd.Series:
    """Each seed's mean return, or another column's, over the episodes that ended in the last `share`, if any."""
    rows = curve[(curve["step"] > (1 - share) * steps) & curve[column].notna() & (curve["episodes"] > 0)]
    weighted = (rows[column] * rows["episodes"]).groupby(rows["seed"]).sum()
    return weighted / rows.groupby("seed")["episodes"].sum()


def read_table(source: Any, **reading: Any) -> pd.DataFrame:
    """What pandas' `read_csv` reads from a path or a buffer, with every number as it was written, to the last bit."""
    found: pd.DataFrame = pd.read_csv(source, **EXACT, **reading)
    return found


def students_interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95% interval x̄ ± t₀.₉₇₅,ₙ₋₁·s/√n for the mean over the first axis, of length n ≥ 2. Student 1908."""
    from scipy import special  # slow to import

    count, mean = len(values), values.mean(axis=0)
    reach = special.stdtrit(count - 1, 0.975) * values.std(axis=0, ddof=1) / count**0.5
    return mean - reach, mean + reach


def over(values: Any, of: str = "seeds") -> str:
    """The mean of one value per seed, with its 95% interval if none is missing and there are at least FEWEST."""
    known = pd.Series(values).dropna()
    if len(known) < len(values):
        return f"{known.mean():z.1f} (of {len(known)} of {len(values)} {of}: no interval)"
    if len(known) < FEWEST:
        return f"{known.mean():z.1f} (no interval with fewer than {FEWEST} {of})"
    low, high = students_interval(known.to_numpy())
    return f"{known.mean():z.1f}, 95% interval [{low:z.1f}, {high:z.1f}] (Student's t over {len(known)} {of})"
