"""The trials of each trick, a row of `trials.csv` each, in ladder order.

Both arms have the flags `others`, and one of them the trick, too. `world` is an environment, `numbers` are those of
`Config` that are not the defaults, and `best` is the best possible score. `dose` says what the doses differ in, and
`sizes` how much of it each has; the values of several doses are separated by `|`. The other columns are as in `Trial`.
"""

import csv
from ast import literal_eval
from pathlib import Path
from typing import Any

from ablations.question.designs import TRIALS
from ablations.question.trial import Dose, Trial
from tricks.config import Config


def _trial(row: dict[str, str]) -> Trial:
    sizes, numbers = row["sizes"].split("|"), dict(each.split("=") for each in row["numbers"].split())
    values = {name: text.split("|") * len(sizes) for name, text in (row | numbers).items()}  # one holds at every dose
    doses = list[Dose]()
    for k, size in enumerate(sizes):
        own = {name: literal_eval(values[name][k]) for name in numbers}
        config = Config(values["world"][k], steps=int(row["steps"]), **own)
        doses.append(Dose(float(size), config, float(values["best"][k])))
    said: dict[str, Any] = {"varied": row["dose"], "score": row["score"], "rate_reason": row["rate_reason"]}
    said |= {"predicted": int(row["predicted"]), "rate": float(row["rate"]) if row["rate"] else None}
    return Trial(row["trick"], tuple(row["others"].split()), tuple(doses), reason=row["reason"], **said)


with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as table:
    TRIALS += map(_trial, csv.DictReader(table))
