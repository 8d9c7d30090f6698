"""The designs by name, and helpers that they share."""

from collections.abc import Callable, Sequence

from ablations.design.labels import Label
from ablations.design.story import Design
from tricks.errors import InputError
from tricks.ladder import closed

Maker = Callable[[Sequence[str]], Design]
DESIGNS: dict[str, Maker] = {}


def registered(make: Maker) -> Maker:
    """Register a design under its function's name, with - for _."""
    DESIGNS[make.__name__.replace("_", "-")] = make
    return make


def what_is_needed(names: Sequence[str]) -> list[str]:
    """Tricks that the chosen ones need but that are not chosen. Raises InputError if one of them needs a chosen one."""
    base = [need for need in closed(names) if need not in names]
    for need in base:
        if between := [name for name in names if name in closed([need])]:
            raise InputError(f"{need} is needed, and itself needs {', '.join(between)}: add {need} to --tricks")
    return base


def start(base: Sequence[str]) -> Label:
    """The label of the first arm, which has only what the chosen tricks need."""
    return Label(", ".join(base), note="what the chosen tricks need") if base else Label("reinforce")
