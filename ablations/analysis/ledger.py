"""All questions that a folder has answered, with one correction; and when to stop adding seeds to one of them."""

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ablations.analysis.effects import HELPS, HURTS, effects
from ablations.analysis.records import Study, load_if_whole, seeds_in
from ablations.analysis.stats import LEVEL, holm
from ablations.training.store import Claim


def looks(first: int, at_most: int) -> list[int]:
    """Numbers of seeds at which to look: `first`, twice as many, and so on, and `at_most`."""
    found = [min(first, at_most)]
    while found[-1] < at_most:
        found.append(min(2 * found[-1], at_most))
    return found


def shares(seeds: Sequence[int]) -> list[float]:
    """Each look's share of the 5%, in proportion to its new seeds.

    A comparison is wrong if any look is, so with these shares it is so in at most 5% of all cases (Bonferroni), however
    the looks depend on each other. That holds for a stop because of help, of harm, or of practically nothing.
    """
    return [LEVEL * float(x) / seeds[-1] for x in np.diff(seeds, prepend=0)]


COLUMNS = ["question", "env", "arm", "against", "difference", "p", "seeds", "verdict"]


def ledger(studies: Sequence[Study]) -> pd.DataFrame:
    """One row per comparison of all studies: COLUMNS (difference: normalized where there is a scale), p_all, stands.

    p_all: corrected by Holm's method for all comparisons of the table. stands: whether that is still below 5%.
    """
    every = [(study, effects(study, design)) for study in studies for design in study.designs]
    found = [each.assign(question=s.about.get("answer") or s.name)[COLUMNS] for s, each in every if len(each)]
    table = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=COLUMNS)
    table["p_all"] = holm(table.p.to_numpy(dtype=float))
    return table.assign(stands=(table.p_all < LEVEL) & table.verdict.isin((HELPS, HURTS)))


def fresh_seeds(folder: Path, question: Collection[str], count: int, claims: Collection[Claim] = ()) -> tuple[int, ...]:
    """`count` seeds: those the question (its digests) had before, its own and later ones, or all after any other's."""
    own, others = set[int](), set[int]()
    for name, first, size in claims:
        (own if name in question else others).update(range(first, first + size))
    for path in (*folder.glob("*.csv.gz"), *folder.glob("*.sweep.csv")):  # of random designs, too
        study = load_if_whole(path)
        same = study is not None and study.about.get("question") in question
        (own if same else others).update(seeds_in(path))
    again = sorted(first for name, first, size in claims if name in question and size == count)
    again += (seed for seed in sorted(own) if own.issuperset(range(seed, seed + count)))
    first = next(iter(again), min(own, default=max(others, default=-1) + 1))
    if ({*range(first, first + count)} - own) & others:
        first = max(own | others) + 1
    return tuple(range(first, first + count))
