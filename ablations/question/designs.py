"""Designs by name: which combinations of flags to train, and which pairs show what a trick does.

A design only lists arms; an arm that several designs share is trained once. Every arm meets its tricks' needs: a trick
that the chosen ones need but that is not chosen itself is on in all arms. To add a design, write a function that
returns one and mark it as `registered`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from ablations.question import around
from ablations.question.arms import Arm, Comparison, Design, Label, flags, tricks_of
from ablations.question.around import crossed, on_and_off
from ablations.question.trial import Trial
from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import NEEDS, REINFORCE, closed, switched

REPORTED = "30:60"  # seeds 0 to 29 were looked at while the designs and the statistics were made


@dataclass(frozen=True)
class Setting:
    """An environment with its budget and numbers, and how many seeds are reported by default."""

    config: Config
    seeds: str = REPORTED
    fixed: bool = False
    """Whether every arm runs at the config's learning rate instead of its own from `learning_rates.csv`."""
    more: tuple[str, ...] = ()
    """Designs that are trained here by default in addition to the suite's."""
    designs: tuple[str, ...] = ()
    """Designs that are trained here by default instead of the suite's."""


@dataclass(frozen=True)
class Suite:
    """Settings, and the designs that are trained in all of them by default."""

    settings: tuple[Setting, ...]
    designs: tuple[str, ...] = ("ladder",)
    beyond: tuple[str, ...] = ()
    """The tricks from beyond the ladder that its designs on those are about; empty: all of them."""


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
        raise InputError(f"unknown suite {name!r}; the suites are {', '.join(SUITES)}")
    return SUITES[name]


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


def position(env: str) -> int:
    """Where the suites first name the environment; what they don't name comes last."""
    envs = list(dict.fromkeys(setting.config.env for suite in SUITES.values() for setting in suite.settings))
    return envs.index(env) if env in envs else len(envs)


@registered
def ladder(names: Sequence[str]) -> Design:
    """Add one trick at a time, in teaching order. What a trick adds depends on that order."""
    base = what_is_needed(names)
    made = around.ladder(Arm("all", switched([*base, *names])), names, start(base))
    return replace(made, name="ladder", base=tuple(base))


@registered
def leave_one_out(names: Sequence[str]) -> Design:
    """The full set, and the set without each trick and whatever needs it. Is the trick still needed?"""
    base = what_is_needed(names)
    made = around.leave_one_out(Arm("all", switched([*base, *names])), names)
    return replace(made, name="leave-one-out", base=tuple(base))


@registered
def add_one_in(names: Sequence[str]) -> Design:
    """The bare core, and the core with each trick and whatever it needs. Does the trick help alone?

    A trick with needs is compared to its needs alone, so that it gets no credit for them.
    """
    return replace(around.add_one_in(Arm(start([]), REINFORCE), names), name="add-one-in")


@registered
def factorial(names: Sequence[str]) -> Design:
    """Every combination of at most five tricks: exact effects and interactions."""
    base = what_is_needed(names)
    return crossed("factorial", names, on_and_off(names), "whole", base, start(base))


@registered
def screen(names: Sequence[str]) -> Design:
    """A fold-over of a Hadamard matrix, resolution IV: main effects clear of pairwise ones. Plackett & Burman 1946.

    Out of all tricks, it crosses those that no other trick needs. The tricks that they need are on in all arms.
    """
    from scipy.linalg import hadamard

    if set(names) >= {need for name in names for need in NEEDS[name]}:  # else few arms would meet all needs
        names = [name for name in names if not any(name in NEEDS[other] for other in names)]
    if len(names) < 2:
        raise InputError(f"a screen takes at least 2 tricks, not {len(names)}")
    order = 2 ** len(names).bit_length()
    half = hadamard(order)[:, 1 : len(names) + 1]
    base = what_is_needed(names)
    return crossed("screen", names, np.vstack([half, -half]) > 0, "fraction", base, start(base))


def as_stored(design: Design) -> dict[str, Any]:
    """The fields of the design as values for JSON.

    An arm is its label, flags, numbers, and the names of its functions; a comparison its label and both arms.
    """

    def stored(arm: Arm) -> tuple[Any, ...]:
        return astuple(arm.label), flags(arm.tricks), [*arm.numbers], [*dict(arm.functions)]

    pairs = [(astuple(pair.label), stored(pair.without), stored(pair.having)) for pair in design.comparisons]
    return vars(design) | {"arms": [*map(stored, design.arms)], "comparisons": pairs}


def as_design(stored: Mapping[str, Any]) -> Design:
    """The design that was stored."""
    pairs = [Comparison(Label(*_frozen(label)), _arm(*off), _arm(*on)) for label, off, on in stored["comparisons"]]
    rest = {name: _frozen(value) for name, value in stored.items()}
    return Design(**rest | {"arms": tuple(_arm(*each) for each in stored["arms"]), "comparisons": tuple(pairs)})


def _arm(label: list[Any], on: str, own: list[Any], functions: Any = ()) -> Arm:
    """The arm. Only the functions' names are stored; `str` stands in for each."""
    return Arm(Label(*_frozen(label)), tricks_of(on), _frozen(own), dict.fromkeys(functions, str))


def _frozen(value: Any) -> Any:
    """Turn lists back into tuples, which JSON lacks."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
