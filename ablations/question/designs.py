"""Designs by name: which combinations of flags to train, and which pairs show what a trick does.

An arm that several designs share is trained once. Every arm meets its tricks' needs: a trick that the chosen ones need
but that is not chosen itself is on in all arms. To add a design, write a function that returns one and mark it as
`registered`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from ablations.question import around
from ablations.question.arms import SIGN, Arm, Comparison, Design, Label, flags
from ablations.question.trial import Trial
from tricks.config import Config
from tricks.errors import InputError
from tricks.flags import meant
from tricks.ladder import closed, switched

REPORTED = "30:60"  # seeds 0 to 29 were looked at while the designs and the statistics were made


@dataclass(frozen=True)
class Setting:
    """An environment with its budget and numbers, and how many seeds are reported by default."""

    config: Config
    seeds: str = REPORTED
    fixed: bool = False  # whether every arm runs at the config's learning rate instead of its own
    more: tuple[str, ...] = ()  # designs that are trained here by default in addition to the suite's
    designs: tuple[str, ...] = ()  # designs that are trained here by default instead of the suite's


@dataclass(frozen=True)
class Suite:
    """Settings, and the designs that are trained in all of them by default."""

    settings: tuple[Setting, ...]
    designs: tuple[str, ...] = ("ladder",)
    beyond: tuple[str, ...] = ()  # tricks from beyond the ladder that its designs on those are about; empty: all


Maker = Callable[[Sequence[str]], Design]
DESIGNS: dict[str, Maker] = {}
SUITES: dict[str, Suite] = {}
TRIALS: list[Trial] = []


def registered(make: Maker) -> Maker:
    """Register a design under its function's name, with - for _."""
    DESIGNS[make.__name__.replace("_", "-")] = make
    return make


def suite_named(name: str) -> Suite:
    """The suite. Raises InputError if there is none of this name."""
    if name not in SUITES:
        hint = meant(name, SUITES) or f"; the suites are {', '.join(SUITES)}"
        raise InputError(f"unknown suite {name!r}{hint}")
    return SUITES[name]


def what_is_needed(names: Sequence[str]) -> list[str]:
    """Tricks that the chosen ones need but that are not chosen. Raises InputError if one of them needs a chosen one."""
    base = [need for need in closed(names) if need not in names]
    for need in base:
        if between := [name for name in names if name in closed([need])]:
            raise InputError(f"{need} is needed, and itself needs {', '.join(between)}: add {need} to --tricks")
    return base


def start(names: Sequence[str]) -> Arm:
    """The arm that has only what these tricks need. Raises InputError as `what_is_needed`."""
    base = what_is_needed(names)
    label = Label(", ".join(base), note="what the chosen tricks need") if base else Label("reinforce")
    return Arm(label, switched(base))


def position(env: str) -> int:
    """Where the suites first name the environment; what they don't name comes last."""
    envs = list(dict.fromkeys(setting.config.env for suite in SUITES.values() for setting in suite.settings))
    return envs.index(env) if env in envs else len(envs)


@registered
def ladder(names: Sequence[str]) -> Design:
    """Add one trick at a time, in teaching order. What a trick adds depends on that order."""
    first = start(names)
    made = around.ladder(Arm("all", switched([*first.tricks.on, *names])), names, first.label)
    return replace(made, name="ladder", base=first.tricks.on)


@registered
def leave_one_out(names: Sequence[str]) -> Design:
    """The full set, and the set without each trick and whatever needs it. Is the trick still needed?"""
    base = what_is_needed(names)
    made = around.leave_one_out(Arm("all", switched([*base, *names])), names)
    return replace(made, name="leave-one-out", base=tuple(base))


@registered
def add_one_in(names: Sequence[str]) -> Design:
    """The bare core, and the core with each trick, compared to what that needs. Does the trick help alone?"""
    return replace(around.add_one_in(start([]), names), name="add-one-in")


@registered
def factorial(names: Sequence[str]) -> Design:
    """Every combination of at most five tricks: exact effects and interactions."""
    first = start(names)
    return replace(around.factorial(first, names, first.label), name="factorial")


def as_stored(design: Design) -> dict[str, Any]:
    """The design for JSON: of an arm its label, flags, numbers and functions' names, of a comparison label and arms."""

    def stored(arm: Arm) -> tuple[Any, ...]:
        return astuple(arm.label), flags(arm.tricks), [*arm.numbers], [*dict(arm.functions)]

    pairs = [(astuple(pair.label), stored(pair.without), stored(pair.having)) for pair in design.comparisons]
    return vars(design) | {"arms": [*map(stored, design.arms)], "comparisons": pairs}


def as_design(stored: Mapping[str, Any]) -> Design:
    """The design that was stored. Of functions, only the names are; `str` stands in for each."""

    def frozen(value: Any) -> Any:  # JSON has no tuples
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    def arm(label: Any, on: str, own: Any, functions: Any = ()) -> Arm:
        tricks, signed = switched(name for name in on.split() if name != SIGN), [(SIGN, True)] * (SIGN in on.split())
        return Arm(Label(*label), tricks, [*own, *signed], dict.fromkeys(functions, str))

    rest = {name: frozen(value) for name, value in stored.items()} | {"crossed": bool(stored["crossed"])}
    pairs = [Comparison(Label(*label), arm(*off), arm(*on)) for label, off, on in rest["comparisons"]]
    return Design(**rest | {"arms": tuple(arm(*each) for each in rest["arms"]), "comparisons": tuple(pairs)})
