"""Whether a plain formula is still the one that its compiled form was written for, so that an edit takes effect."""

import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from torch import Tensor

Function = Callable[..., Any]
DIGESTS = {
    "tricks.core.adam.Adam.plan": "42aba138a25b",
    "tricks.core.layers.affine": "f76a79d9c71d",
    "tricks.core.layers.dense": "3a7c9735c662",
    "tricks.core.policies.Categorical.entropy": "f98d4f0e6d91",
    "tricks.core.policies.Categorical.log_prob": "b68315cad8fe",
    "tricks.core.reductions.mean": "a94aed37964f",
    "tricks.core.returns.discounted_sum": "cbe1606ea7ff",
    "tricks.core.rollout.play_episodes": "681f9f3d6ddc",
    "tricks.loop.learn": "a4daf54e11cf",
    "tricks.segments.play_segment": "754be2d9b9e4",
    "tricks.worlds.acrobot.dynamics": "39cfb7d47d03",
    "tricks.worlds.acrobot.observe": "11726936035c",
    "tricks.worlds.cartpole.dynamics": "d24876b32284",
    "tricks.worlds.pendulum.dynamics": "cda74ecb8591",
    "tricks.worlds.pendulum.observe": "c1e9486ffac5",
}
FORMULAS: dict[str, tuple[Function, Callable[[], Function]]] = {}  # by name, with their compiled forms


class Attribute(NamedTuple):
    """A class or module, a name in it, and what stood there when this was made."""

    owner: Any
    name: str
    kept: Any
    function: Function

    @property
    def unchanged(self) -> bool:
        """Whether it still stands there."""
        return vars(self.owner)[self.name] is self.kept


def attributes(*named: tuple[Any, str]) -> tuple[Attribute, ...]:
    """More that a compiled form stands for, for its attribute `formulas`."""
    return tuple(Attribute(owner, name, vars(owner)[name], getattr(owner, name)) for owner, name in named)


def note(formula: Function, form: Callable[[], Function]) -> str:
    """Take a formula into FORMULAS; returns its name."""
    name = f"{formula.__module__}.{formula.__qualname__}"
    FORMULAS[name] = formula, form
    return name


def stands_for(name: str) -> list[Function]:
    """The formula of this name, and more that its compiled form stands for."""
    formula, form = FORMULAS[name]
    return [formula, *(each.function for each in getattr(form(), "formulas", ()))]


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
