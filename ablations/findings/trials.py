"""The trials of each trick, a row of `trials.csv` each, in ladder order.

Both arms have the flags `others`, and one of them the trick, too. `world` is an environment, `numbers` are those of
`Config` that are not the defaults, and `best` is the best possible score. `dose` says what the doses differ in, and
`sizes` how much of it each has; the values of several doses are separated by `|`. The other columns are as in `Trial`.
"""

import csv
from ast import literal_eval
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from ablations.question.designs import TRIALS
from ablations.question.trial import Dose, Trial
from tricks.config import Config


def _trial(row: Mapping[str, str]) -> Trial:
    doses, numbers = list[Dose](), dict(each.split("=") for each in row["numbers"].split())
    for k, size in enumerate(row["sizes"].split("|")):
        own = {name: literal_eval(_at(k, values)) for name, values in numbers.items()}
        config = Config(_at(k, row["world"]), steps=int(row["steps"]), **own)
        doses.append(Dose(float(size), config, float(_at(k, row["best"]))))
    said: dict[str, Any] = {"varied": row["dose"], "score": row["score"], "rate_reason": row["rate_reason"]}
    rate = float(row["rate"]) if row["rate"] else None
    signs: dict[str, Literal[1, 0, -1]] = {"1": 1, "0": 0, "-1": -1}
    others, sign = tuple(row["others"].split()), signs[row["predicted"]]
    return Trial(row["trick"], others, tuple(doses), sign, row["reason"], rate=rate, **said)


def _at(dose: int, values: str) -> str:
    """The value at a dose; a single value holds at every dose."""
    each = values.split("|")
    return each[dose if len(each) > 1 else 0]


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as table:
    TRIALS += map(_trial, csv.DictReader(table))
