"""Studies of one folder that belong together: of different seeds, or trials of different tricks."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce

import pandas as pd

from ablations.analysis.studies import COLUMNS, Study
from ablations.training.rates import FIXED
from tricks.errors import InputError


def merged(studies: Sequence[Study]) -> list[Study]:
    """Join studies that differ only in their seeds, such as today's seeds 0 to 9 and tomorrow's 10 to 29.

    A name that ends in its first seed, `_from10`, joins the name without it. The seeds must not leave a gap, and every
    arm must have the same learning rate in both.
    """
    found: dict[str, Study] = {}
    for study in sorted(studies, key=lambda study: study.about["seeds"][0]):
        name = study.name.removesuffix(f"_from{study.about['seeds'][0]}")
        before = found.get(name)
        if before is not None and _continues(before, study):
            found[name] = _joined(before, study)
        else:
            found[study.name] = study
    return list(found.values())


def gathered(studies: Sequence[Study]) -> list[Study]:
    """Join the trials of different tricks on the same seeds, as if one command had trained them; keep all others.

    So what is seen in them is corrected for the number of all trials. Trials whose rates were chosen anew in between
    stay apart.
    """
    found: dict[str, Study] = {}
    for study in sorted(studies, key=lambda study: len(study.name)):  # the one of all tricks has the shortest name
        key = f"{study.about['seeds']} {_stepped_by(study)}" if study.kind == "worlds" else study.name
        before = found.get(key)
        if before is None:
            found[key] = study
        elif _at_one_rate(both := _joined(before, study)):
            second = [each.again for each in (before, study) if each.again]
            found[key] = replace(both, again=reduce(_joined, second) if second else None)
        else:
            found[study.name] = study
    return list(found.values())


def _at_one_rate(study: Study) -> bool:
    """Whether each arm that was tuned ran at one learning rate."""
    tuned = study.runs[study.runs.tuned.ne(FIXED)]
    return bool(tuned.groupby(COLUMNS[:4]).lr.nunique().le(1).all())


def refuse_mixed(found: Iterable[tuple[str, str]]) -> None:
    """Raise InputError if results are of different algorithms: what is put together has to come from one.

    found: names and the `ALGORITHM` of each; empty where it was not noted.
    """
    by = dict(reversed([(algorithm, name) for name, algorithm in found]))  # of each, the first
    if len(by) > 1:
        said = [f"{name} is by {f'ALGORITHM {k}' if k else 'an older ALGORITHM'}" for k, name in by.items()]
        raise InputError(f"{' and '.join(said)}: they are never put together; keep them in different folders")


def _stepped_by(study: Study) -> tuple[list[str] | None, list[str], str]:
    """The backends and the kinds of device of its runs, and their algorithm; others' are never mixed with them."""
    made = study.about["made with"]
    return made.get("backend"), made.get("device", ["cpu"]), study.algorithm


def _continues(one: Study, other: Study) -> bool:
    facts = ["env", "steps", "numbers", "tricks", "lr", "tuned"]
    alike = one.runs[facts].drop_duplicates().merge(other.runs[facts].drop_duplicates(), how="outer", indicator=True)
    return bool(
        one.designs == other.designs
        and _stepped_by(one) == _stepped_by(other)
        and one.about["seeds"][1] == other.about["seeds"][0]
        and (alike["_merge"] == "both").all()
    )


def _joined(one: Study, other: Study) -> Study:
    about = one.about.copy()
    about["seconds"] += other.about["seconds"]
    about["steps"] += other.about["steps"]
    about["command"] += f"; {other.about['command']}"
    about["seeds"] = [one.about["seeds"][0], other.about["seeds"][1]]
    both, last = one.about["made with"], other.about["made with"]
    about["made with"] = {key: sorted({*both.get(key, ()), *last.get(key, ())}) for key in both | last}
    runs = pd.concat([one.runs, other.runs])
    runs = runs.sort_values("tuned", key=lambda tuned: tuned.eq(FIXED), kind="stable")  # of equal runs, the tuned stay
    runs = runs.drop_duplicates([*COLUMNS[:5], "seed"], ignore_index=True)  # a shared arm's additional seeds
    return Study(one.name, one.designs, runs, about)
