"""When each line of the loop is there: `python -m chapters lines` learns it from thousands of listings.

A listing is more than its branches: stores that nobody reads vanish, and arguments change. So instead of repeating what
`listing` does in another language, each line gets a small decision tree over the flags that reproduces all samples.
"""

import json
from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np

from chapters.book.results import FOLDER
from chapters.book.site.growing import body
from tricks import InputError, Tricks
from tricks.ladder import EXCLUDES, NEEDS, PRESETS, named, rungs, switched

FILE = FOLDER / "lines.json"
SAMPLES = 2000
Key = tuple[int, str, str]  # blank lines before it, its text, its function with how often both came before it there
Tree = bool | list[Any]  # a leaf, or [a flag, the tree where it is off, the tree where it is on]


def keys(tricks: Tricks) -> list[Key]:
    """The lines of the loop with these flags, each told apart from its equals."""
    found, blank, function = list[Key](), 0, ""
    for line in body(tricks):
        if not line:
            blank += 1
            continue
        function = line.removeprefix("def ").partition("(")[0] if line.startswith("def ") else function
        before = sum(key[:2] == (blank, line) and key[2].split()[0] == function for key in found)
        found.append((blank, line, f"{function} {before}"))
        blank = 0
    return found


def legal_sets(count: int, seed: int = 0) -> Iterator[Tricks]:
    """Every rung and preset, then so many random sets of flags that may go together."""
    yield from rungs()
    yield from (named(name) for name in (*PRESETS, *NEEDS))
    rng = np.random.default_rng(seed)
    for _ in range(count):
        on: list[str] = []
        often = rng.uniform(0.3, 0.95)
        for name, chance in zip(NEEDS, rng.random(len(NEEDS)), strict=True):
            if chance < often and {*NEEDS[name]} <= {*on} and not {*EXCLUDES[name]} & {*on}:
                on.append(name)
        yield switched(on)


def learned(samples: Sequence[Tricks]) -> list[tuple[Key, Tree]]:
    """Every line that any of these listings has, in the order of the loop, and when it is there."""
    found = [keys(tricks) for tricks in samples]
    after: dict[Key, set[Key]] = {}
    for lines in found:
        for first, second in pairwise(lines):
            after.setdefault(second, set()).add(first)
    order = list(TopologicalSorter(after).static_order())
    flags = np.array([[name in tricks.on for name in NEEDS] for tricks in samples])
    there = {key: np.array([key in lines for lines in map(set, found)]) for key in order}
    return [(key, tree(flags, there[key])) for key in order]


def tree(flags: np.ndarray, there: np.ndarray) -> Tree:
    """The smallest tree that a greedy search finds. flags: [samples, flags]; there: [samples]."""
    if there.all() or not there.any():
        return bool(there.all()) and len(there) > 0
    split = [flags[:, k] for k in range(flags.shape[1])]
    useful = [k for k, on in enumerate(split) if on.any() and not on.all()]
    # the least number of samples times the variance of whether the line is there
    best = min(
        useful, key=lambda k: sum(len(x) * x.mean() * (1 - x.mean()) for x in (there[split[k]], there[~split[k]]))
    )
    on = split[best]
    return [list(NEEDS)[best], tree(flags[~on], there[~on]), tree(flags[on], there[on])]


def resolved(stored: Sequence[tuple[Key, Tree]], tricks: Tricks) -> list[str]:
    """The lines of the loop with these flags, by their trees."""
    found: list[str] = []
    for (blank, line, _), when in stored:
        while not isinstance(when, bool):
            when = when[2 if getattr(tricks, when[0]) else 1]
        found += [*[""] * blank, line] if when else []
    return found


def read() -> list[tuple[Key, Tree]]:
    """The stored lines. Raises InputError if there are none."""
    if not FILE.exists():
        raise InputError(f"{FILE.name} is missing; `python -m chapters lines` makes it")
    return [((blank, line, n), when) for (blank, line, n), when in json.loads(FILE.read_text(encoding="utf-8"))]


def main() -> int:
    """Learn the lines, try them on sets that were not learned from, and store them. Returns the exit status."""
    stored = learned(list(legal_sets(SAMPLES)))
    wrong = [tricks for tricks in legal_sets(200, seed=1) if resolved(stored, tricks) != body(tricks)]
    if wrong:
        raise InputError(f"the trees are wrong for {', '.join(wrong[0].on)}: learn from more than {SAMPLES} samples")
    rows = ",\n".join(json.dumps(pair, ensure_ascii=False) for pair in stored)
    FILE.write_text(f"[{rows}]\n", encoding="utf-8")
    print(f"wrote {FILE.name}: {len(stored)} lines")
    return 0
