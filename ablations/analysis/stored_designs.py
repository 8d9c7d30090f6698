"""A design as plain values, so that a study's file says by itself what its arms and comparisons are."""

from dataclasses import astuple
from typing import Any, Literal, TypedDict

from ablations.design.arms import Arm, Comparison, Design
from ablations.design.designs import DESIGNS
from ablations.design.flag_sets import flags, tricks_of
from ablations.design.labels import Label
from tricks.ladder import NEEDS

StoredLabel = tuple[str, Literal["+", "−", ""], tuple[str, ...], str]  # the fields of `Label`
Named = tuple[str, list[str]]  # older files have only a design's name, and the tricks that it is about


class StoredDesign(TypedDict):
    """The fields of `Design`. An arm is its label, flags and numbers, a comparison its label and both arms' flags."""

    name: str
    names: tuple[str, ...]
    arms: list[tuple[StoredLabel, str, list[tuple[str, Any]]]]
    comparisons: list[tuple[StoredLabel, str, str]]
    dropped: tuple[tuple[str, str], ...]
    base: tuple[str, ...]
    crossed: Literal["", "whole", "fraction"]
    own_arms: bool


def as_stored(design: Design) -> StoredDesign:
    """The design as plain values."""
    return {
        "name": design.name,
        "names": design.names,
        "arms": [(astuple(arm.label), flags(arm.tricks), [*arm.numbers]) for arm in design.arms],
        "comparisons": [(astuple(p.label), flags(p.without), flags(p.having)) for p in design.comparisons],
        "dropped": design.dropped,
        "base": design.base,
        "crossed": design.crossed,
        "own_arms": design.own_arms,
    }


def as_design(stored: StoredDesign | Named) -> Design:
    """The design that was stored. Raises ValueError for one that was stored by its name, and has none now."""
    if isinstance(stored, tuple):
        name, names = stored
        if name not in DESIGNS or not set(names) <= set(NEEDS):
            raise ValueError(f"there is no design {name!r} of {', '.join(names)!r}")
        return DESIGNS[name](names)
    arms = [Arm(Label(*label), tricks_of(on), [*map(_number, own)]) for label, on, own in stored["arms"]]
    pairs = [Comparison(Label(*label), tricks_of(off), tricks_of(on)) for label, off, on in stored["comparisons"]]
    return Design(
        stored["name"],
        stored["names"],
        tuple(arms),
        tuple(pairs),
        stored["dropped"],
        stored["base"],
        stored["crossed"],
        stored["own_arms"],
    )


def _number(stored: tuple[str, Any]) -> tuple[str, Any]:
    """A number as it was; files know no tuples."""
    name, value = stored
    return name, tuple(value) if isinstance(value, list) else value
