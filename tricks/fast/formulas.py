"""Whether a plain formula is still the one that its compiled form was written for, so that an edit takes effect."""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from torch import Tensor

Function = Callable[..., Any]
DIGESTS = {
    "tricks.core.adam.Adam.plan": "99f46212de26",
    "tricks.core.layers.affine": "f76a79d9c71d",
    "tricks.core.layers.dense": "3a7c9735c662",
    "tricks.core.policies.Categorical.entropy": "f98d4f0e6d91",
    "tricks.core.policies.Categorical.log_prob": "b68315cad8fe",
    "tricks.core.reductions.mean": "a94aed37964f",
    "tricks.core.returns.discounted_sum": "cbe1606ea7ff",
    "tricks.core.rollout.play_episodes": "c2183443c879",
    "tricks.loop.learn": "9bbd01b1ad4a",
    "tricks.segments.play_segment": "f508fad83b1a",
    "tricks.worlds.acrobot.dynamics": "29022a54bbd6",
    "tricks.worlds.acrobot.observe": "11726936035c",
    "tricks.worlds.cartpole.dynamics": "d24876b32284",
    "tricks.worlds.pendulum.dynamics": "cda74ecb8591",
    "tricks.worlds.pendulum.observe": "c1e9486ffac5",
}
FORMULAS: dict[str, tuple[Function, Callable[[], Function]]] = {}  # by name, with their compiled forms


class Attribute(NamedTuple):
    """A name in a class or module, and what stood there when this was made."""

    names: Mapping[str, Any]  # those of the class or module
    name: str
    kept: Any
    function: Function | None  # if it is one: what is beneath its decorators, and its code, which can change in place
    code: object
    ours: bool = False  # whether a compiled form stands for it, and not only for what reads it

    @property
    def unchanged(self) -> bool:
        """Whether it still stands there."""
        return all_unchanged([self])


def all_unchanged(attributes: Iterable[Attribute]) -> bool:
    """Whether all of these still stand there, with the same code. (It is asked at every call, so it is one loop.)"""
    for names, name, kept, function, code, _ in attributes:
        if names.get(name) is not kept or (function is not None and function.__code__ is not code):
            return False
    return True


def attributes(*named: tuple[Any, str]) -> tuple[Attribute, ...]:
    """More that a compiled form stands for, for its attribute `formulas`, and what all that reads."""
    own = [getattr(owner, name).__module__.startswith("tricks.") for owner, name in named]
    found = [attribute(vars(owner), name, ours) for (owner, name), ours in zip(named, own, strict=True)]
    return *found, *reads(*(each.function for each in found if each.ours and each.function is not None))


def attribute(names: Mapping[str, Any], name: str, ours: bool = False) -> Attribute:
    """What stands there now; None if a class inherits it."""
    kept: Any = names.get(name)
    function = inspect.unwrap(kept) if hasattr(kept, "__wrapped__") or inspect.isfunction(kept) else None
    return Attribute(names, name, kept, function, getattr(function, "__code__", None), ours)


def reads(*functions: Function) -> tuple[Attribute, ...]:
    """What these functions, and those of this package that they call, read in their modules."""
    left, seen, found = [inspect.unwrap(each) for each in functions], set[Function](), dict[object, Attribute]()
    while left:
        function = left.pop()
        if function in seen:
            continue
        seen.add(function)
        for name, value in read(function).items():
            found[function.__module__, name] = attribute(function.__globals__, name)
            if inspect.isfunction(value) and value.__module__.startswith("tricks."):
                left.append(inspect.unwrap(value))
    return tuple(found.values())


def note(formula: Function, form: Callable[[], Function]) -> str:
    """Take a formula into FORMULAS; returns its name."""
    name = f"{formula.__module__}.{formula.__qualname__}"
    FORMULAS[name] = formula, form
    return name


def formula(name: str) -> Function:
    """The formula of this name, which computes in PyTorch."""
    return FORMULAS[name][0]


def stands_for(name: str) -> list[Function]:
    """The formula of this name, and more that its compiled form stands for."""
    formula, form = FORMULAS[name]
    more = [each.function for each in getattr(form(), "formulas", ()) if each.ours]
    return [formula, *(each for each in more if each is not None)]


def read(formula: Function) -> dict[str, Any]:
    """What a formula reads in its module: functions, constants and classes, by name."""
    names = formula.__globals__
    found = {name: names[name] for name in formula.__code__.co_names if name in names}
    return {name: value for name, value in found.items() if not inspect.ismodule(value)}


def digest(*formulas: Function) -> str:
    """Of their texts, and of what they read in this package."""
    texts = dict.fromkeys(text for each in formulas for text in _texts(each, set()))
    return sha256("".join(texts).encode()).hexdigest()[:12]


@cache
def as_written(name: str) -> bool:
    """Whether a formula is as it was when its compiled form was written; if not, a line on stderr says so."""
    try:
        same = digest(*stands_for(name)) == DIGESTS[name]
    except OSError:  # the text isn't there, so nobody can have edited it
        return True
    if not same:
        print(f"{name}, or what it reads, was edited, so it runs as written, uncompiled", file=sys.stderr, flush=True)
    return same


def _texts(function: Function, seen: set[Function]) -> Iterator[str]:
    function = inspect.unwrap(function)
    if function not in seen:
        seen.add(function)
        yield inspect.getsource(function)
        for name, value in read(function).items():
            if isinstance(value, int | float | Tensor):
                yield f"{name} = {value.tolist() if isinstance(value, Tensor) else value}\n"
            if inspect.isfunction(value) and value.__module__.startswith("tricks."):
                yield from _texts(value, seen)
