"""Grids of numbers, and random sets of flags and numbers: what is varied, and how it is dealt into stacks of agents."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from math import log
from typing import Any

import numpy as np

from ablations.question.designs import what_is_needed
from tricks.config import Config, PerSeed
from tricks.errors import InputError
from tricks.flags import meant
from tricks.ladder import EXCLUDES, NEEDS, Tricks, switched

STACK = 100  # agents of one stack at most, unless one combination has more seeds: larger stacks gain nothing
SIDE_BY_SIDE = tuple(f.name for f in fields(Config) if f.type == PerSeed)  # these may differ from seed to seed


def parse(given: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """`["clip_range=0.1,0.2", "epochs=1,4"]` as numbers and their values. Raises InputError for what does not fit."""
    kinds = [f.name for f in fields(Config) if f.type in (int, PerSeed) and f.name != "steps"]
    grid: dict[str, tuple[Any, ...]] = {}
    for text in given:
        name, _, listed = text.partition("=")
        name = name.replace("-", "_")
        if name not in kinds:
            raise InputError(f"--vary has no number {name!r}{meant(name, kinds) or '; it has ' + ', '.join(kinds)}")
        if name in grid:
            raise InputError(f"--vary has {name} twice")
        try:  # each in its range and of its kind, or an InputError
            numbers: list[dict[str, Any]] = [{name: float(each)} for each in listed.split(",")]
            values = tuple(getattr(replace(Config(seeds=1), **number), name) for number in numbers)
        except ValueError:
            raise InputError(f"--vary needs values such as {name}=1,2, not {text!r}") from None
        if len(set(values)) < len(values):
            raise InputError(f"--vary has a value of {name} twice")
        grid[name] = values
    return grid


def stacks(base: Config, grid: Mapping[str, Sequence[Any]], seeds: int) -> Iterator[Config]:
    """All combinations, each with its own `seeds` seeds, in stacks of at most STACK agents.

    Numbers that may differ from seed to seed vary within a stack. The agents of a stack have the seeds 0, 1, ..., so
    that a combination's seeds depend on the grid, not on what has been trained before.
    """
    whole = {name: values for name, values in grid.items() if name not in SIDE_BY_SIDE}
    varied = {name: values for name, values in grid.items() if name in SIDE_BY_SIDE}
    every, many = combinations(varied), max(1, STACK // seeds)
    for start in range(0, len(every), many):
        cells = [cell for cell in every[start : start + many] for _ in range(seeds)]
        numbers: dict[str, Any] = {name: tuple(cell[name] for cell in cells) for name in varied}
        own = tuple(range(start * seeds, start * seeds + len(cells)))
        for same in combinations(whole):
            yield replace(base, seeds=own, **numbers, **same)


def combinations(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination of one value each."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


PER_SET = 10  # draws of numbers for each set of flags
ON = 2 / 3  # how often a flag is on if its needs are; half of the time would leave few sets with the last of a chain
RANGES = {  # drawn log-uniformly
    "lr": (1e-4, 3e-2),
    "clip_range": (0.05, 0.8),
    "value_clip_range": (0.05, 0.8),
    "entropy_coef": (1e-4, 0.1),
    "value_coef": (0.1, 2.0),
    "max_grad_norm": (0.1, 10.0),
    "return_beta": (0.01, 1.0),
}
VALUES: dict[str, tuple[float, ...]] = {
    "gamma": (0.95, 0.98, 0.99, 0.995, 0.999),
    "gae_lambda": (0.5, 0.8, 0.9, 0.95, 1),
}
WHOLE: dict[str, tuple[int, ...]] = {
    "epochs": (1, 3, 5, 10),
    "minibatches": (1, 4, 16),
    "lanes": (8, 32),
    "horizon": (32, 128),
}
DRAWN = (*RANGES, *VALUES, *WHOLE)


def drawn(base: Config, names: Sequence[str], sets: int) -> Iterator[tuple[Tricks, Config]]:
    """So many sets of flags out of `names`, each with PER_SET draws of numbers, seeds 0, 1, 2, ... over all.

    What the names need, but do not contain, is always on. The first sets are the same however many are drawn.
    """
    needed = what_is_needed(names)
    for k in range(sets):
        rng = np.random.default_rng([2020, k])
        tricks = legal(rng, names, needed)
        numbers: dict[str, Any] = {
            name: tuple(float(f"{x:.3g}") for x in np.exp(rng.uniform(log(ends[0]), log(ends[1]), PER_SET)))
            for name, ends in RANGES.items()
        }
        numbers |= {name: tuple(float(x) for x in rng.choice(values, PER_SET)) for name, values in VALUES.items()}
        numbers |= {name: int(rng.choice(values)) for name, values in WHOLE.items()}
        seeds = tuple(range(k * PER_SET, (k + 1) * PER_SET))
        yield tricks, replace(base, seeds=seeds, **numbers)


def legal(rng: np.random.Generator, names: Sequence[str], needed: Sequence[str] = ()) -> Tricks:
    """The flags that are `needed`, and of the others, in ladder order, each with probability ON if it can be on."""
    on = list(needed)
    for name, chance in zip(names, rng.random(len(names)), strict=True):
        if chance < ON and {*NEEDS[name]} <= {*on} and not {*EXCLUDES[name]} & {*on}:
            on.append(name)
    return switched(on)
