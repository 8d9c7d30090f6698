"""Whether a plain formula is still the one that its compiled form was written for, so that an edit takes effect."""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

Function = Callable[..., Any]
UNREAD = ("annotation", "returns", "ctx", "type_comment", "type_params", "kind")  # of a syntax tree
DIGESTS = {
    "tricks.core.adam.Adam.plan": "8356239314be",
    "tricks.core.layers.affine": "74148d6d6bba",
    "tricks.core.layers.dense": "4d0bb088f9ee",
    "tricks.core.policies.Categorical.entropy": "3fc47e63b202",
    "tricks.core.policies.Categorical.log_prob": "57b9f31a780b",
    "tricks.core.reductions.mean": "f0095d6cd5f7",
    "tricks.core.returns.discounted_sum": "5ac682475e5d",
    "tricks.core.rollout.play_episodes": "fb2192f0e95a",
    "tricks.loop.learn": "8d1ad10470c2",
    "tricks.segments.play_segment": "dc466375d6cb",
    "tricks.worlds.acrobot.dynamics": "1cf62221a2d7",
    "tricks.worlds.acrobot.observe": "525c1c81cf00",
    "tricks.worlds.cartpole.dynamics": "dace3a765cad",
    "tricks.worlds.pendulum.dynamics": "01934defee7c",
    "tricks.worlds.pendulum.observe": "af3ad3c7eca7",
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
    """What a formula reads in its module, in comprehensions and lambdas, too: functions, constants and classes."""
    names, found = formula.__globals__, sorted(set(_names(formula.__code__)))
    return {name: names[name] for name in found if name in names and not inspect.ismodule(names[name])}


def _names(code: CodeType) -> Iterator[str]:
    """All names that it looks up. A comprehension has code of its own in some versions of Python."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def digest(*formulas: Function) -> str:
    """Of their syntax, and of what they read in this package; the same in every version of Python."""
    texts = dict.fromkeys(text for each in formulas for text in _texts(each, set()))
    return sha256("".join(texts).encode()).hexdigest()[:12]


@cache
def as_written(name: str) -> bool:
    """Whether a formula is as it was when its compiled form was written; if not, a line on stderr says so."""
    try:
        same = digest(*stands_for(name)) == DIGESTS[name]
    except OSError:  # the text isn't there, so nobody can have edited it
        return True
    except SyntaxError:  # the file has changed since it was imported
        same = False
    if not same:
        print(f"{name}, or what it reads, was edited, so it runs as written, uncompiled", file=sys.stderr, flush=True)
    return same


def _texts(function: Any, seen: set[Any]) -> Iterator[str]:
    """The syntax of a function or class; for a function, also that of all it reads in this package, and constants."""
    function = inspect.unwrap(function)
    if function in seen:
        return
    seen.add(function)
    text = inspect.getsource(function)
    yield _syntax(ast.parse(f"if True:\n{text}" if text[0].isspace() else text).body)  # a method is indented
    for name, value in read(function).items() if inspect.isfunction(function) else ():
        if isinstance(value, int | float | str | tuple | np.ndarray | np.generic | Tensor):
            yield f"{name} = {value.tolist() if isinstance(value, np.ndarray | np.generic | Tensor) else value}\n"
        elif _is_ours(value):
            yield from _texts(value, seen)


def _is_ours(value: Any) -> bool:
    """Whether this is a function or class of this package; one with a cache is a function, too."""
    code = inspect.isclass(value) or inspect.isfunction(getattr(value, "__wrapped__", value))
    return code and str(value.__module__).startswith("tricks.")


def _syntax(node: Any) -> str:
    """A syntax tree as text, without comments, docstrings, and annotations: editing them changes no number."""
    if isinstance(node, list):
        return f"[{' '.join(_syntax(each) for each in node if not _is_prose(each))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: value for name, value in ast.iter_fields(node) if name not in UNREAD and value not in (None, [])}
    return f"{type(node).__name__}({' '.join(f'{name}={_syntax(value)}' for name, value in fields.items())})"


def _is_prose(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
