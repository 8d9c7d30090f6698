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
    "tricks.core.adam.Adam.plan": "2a375e75b2e7",
    "tricks.core.layers.affine": "f76a79d9c71d",
    "tricks.core.layers.dense": "3a7c9735c662",
    "tricks.core.policies.Categorical.entropy": "f98d4f0e6d91",
    "tricks.core.policies.Categorical.log_prob": "b68315cad8fe",
    "tricks.core.reductions.mean": "a94aed37964f",
    "tricks.core.returns.discounted_sum": "cbe1606ea7ff",
    "tricks.core.rollout.play_episodes": "5e6e9d845df6",
    "tricks.loop.learn": "2e74015cd2a6",
    "tricks.segments.play_segment": "c68164c70a0f",
    "tricks.worlds.acrobot.dynamics": "39cfb7d47d03",
    "tricks.worlds.acrobot.observe": "11726936035c",
    "tricks.worlds.cartpole.dynamics": "d24876b32284",
    "tricks.worlds.pendulum.dynamics": "cda74ecb8591",
    "tricks.worlds.pendulum.observe": "c1e9486ffac5",
}
FORMULAS: dict[str, tuple[Function, Callable[[], Function]]] = {}  # by name, with their compiled forms


class Attribute(NamedTuple):
    """A name in a class or module, and what stood there when this was made."""

    owner: Any
    name: str
    kept: Any
    function: Function | None  # None for what is only read, by a formula or a function that it calls
    code: object  # the function's, which a module that is loaded again can change

    @property
    def unchanged(self) -> bool:
        """Whether it still stands there, with the same code."""
        return vars(self.owner).get(self.name) is self.kept and code_of(self.kept) is self.code


def attributes(*named: tuple[Any, str]) -> tuple[Attribute, ...]:
    """More that a compiled form stands for, for its attribute `formulas`, and what all that reads."""
    found = list[Attribute]()
    for owner, name in named:
        function, kept = getattr(owner, name), vars(owner).get(name)  # None if it is inherited
        ours = function if function.__module__.startswith("tricks.") else None
        found.append(Attribute(owner, name, kept, ours, code_of(kept)))
    return *found, *reads(*(each.function for each in found if each.function is not None))


def reads(*functions: Function) -> Iterator[Attribute]:
    """What these functions, and those of this package that they call, read in their modules."""
    left, seen = [inspect.unwrap(each) for each in functions], set[Function]()
    while left:
        function = left.pop()
        if function in seen:
            continue
        seen.add(function)
        for name, value in read(function).items():
            yield Attribute(sys.modules[function.__module__], name, value, None, code_of(value))
            if inspect.isfunction(value) and value.__module__.startswith("tricks."):
                left.append(inspect.unwrap(value))


def code_of(x: Any) -> object:
    """The code of a function, beneath what decorates it; None of anything else."""
    return getattr(getattr(x, "__wrapped__", x), "__code__", None)


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
    more = [each.function for each in getattr(form(), "formulas", ())]
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
