"""The trials of each trick, a row of `trials.csv` each, in ladder order.

Both arms have the flags `others`, and one of them the trick, too. `world` is an environment, `numbers` are those of
`Config` that are not the defaults, and `best` is the best possible score. `dose` says what the doses differ in, and
`sizes` how much of it each has; the values of several doses are separated by `|`. The other columns are as in `Trial`.
"""

import csv
from ast import literal_eval
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ablations.question.designs import TRIALS
from ablations.question.trial import Dose, Trial
from tricks.config import Config


def _trial(row: Mapping[str, str]) -> Trial:
    numbers = dict(each.split("=") for each in row["numbers"].split())

    def at(k: int, values: str) -> str:  # a single value holds at every dose
        each = values.split("|")
        return each[k if len(each) > 1 else 0]

    def dose(k: int, size: str) -> Dose:
        own = {name: literal_eval(at(k, values)) for name, values in numbers.items()}
        return Dose(float(size), Config(at(k, row["world"]), steps=int(row["steps"]), **own), float(at(k, row["best"])))

    said: dict[str, Any] = {"varied": row["dose"], "score": row["score"], "rate_reason": row["rate_reason"]}
    said |= {"predicted": int(row["predicted"]), "rate": float(row["rate"]) if row["rate"] else None}
    doses = tuple(dose(k, size) for k, size in enumerate(row["sizes"].split("|")))
    return Trial(row["trick"], tuple(row["others"].split()), doses, reason=row["reason"], **said)


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as table:
    TRIALS += map(_trial, csv.DictReader(table))
