"""Grids of numbers: which numbers to vary, and how their combinations are dealt into stacks of agents."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from typing import Any, NamedTuple

from tricks.config import Config, PerSeed
from tricks.errors import InputError
from tricks.flags import meant
from tricks.values import fitted

STACK = 100  # agents of one stack at most, unless one combination has more seeds: larger stacks gain nothing
SIDE_BY_SIDE = tuple(f.name for f in fields(Config) if f.type == PerSeed)  # these may differ from seed to seed

Cell = Mapping[str, Any]  # a number's name -> its value


class Stack(NamedTuple):
    """Combinations that train side by side."""

    config: Config
    cells: tuple[Cell, ...]
    """The combination of each seed."""


def parse(given: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """`["clip_range=0.1,0.2", "epochs=1,4"]` as numbers and their values.

    Raises InputError for an unknown number, a value that does not fit it, and one that is given twice.
    """
    kinds = {f.name: f.type for f in fields(Config) if f.type in (int, PerSeed) and f.name != "steps"}
    grid: dict[str, tuple[Any, ...]] = {}
    for text in given:
        name, _, listed = text.partition("=")
        name = name.replace("-", "_")
        if name not in kinds:
            raise InputError(f"--vary has no number {name!r}{meant(name, kinds) or '; it has ' + ', '.join(kinds)}")
        if name in grid:
            raise InputError(f"--vary has {name} twice")
        kind = int if kinds[name] is int else float
        try:
            values = tuple(fitted(name, kind, float(part)) for part in listed.split(","))
        except ValueError:
            raise InputError(f"--vary needs values such as {name}=1,2, not {text!r}") from None
        if len(set(values)) < len(values):
            raise InputError(f"--vary has a value of {name} twice")
        for value in values:
            replace(Config(seeds=1), **{name: value})  # in its range, or an InputError
        grid[name] = values
    return grid


def stacks(base: Config, grid: Mapping[str, Sequence[Any]], seeds: int) -> Iterator[Stack]:
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
            yield Stack(replace(base, seeds=own, **numbers, **same), tuple({**same, **cell} for cell in cells))


def combinations(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination of one value each."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
