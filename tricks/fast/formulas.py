"""Whether a plain formula is still the one that its compiled form was written for, so that an edit takes effect."""

import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from types import CodeType
from typing import Any, NamedTuple, cast

import numpy as np
from torch import Tensor

Function = Callable[..., Any]
UNREAD = ("annotation", "returns", "ctx", "type_comment", "type_params", "kind")  # of a syntax tree
DIGESTS = {
    "tricks.core.adam.Adam.move": "47ba069b71cc",
    "tricks.core.layers.affine": "74148d6d6bba",
    "tricks.core.layers.dense": "4d0bb088f9ee",
    "tricks.core.policies.Categorical.log_prob": "57b9f31a780b",
    "tricks.core.reductions.mean": "ab78a3213dbc",
    "tricks.core.returns.discounted_sum": "5ac682475e5d",
    "tricks.core.rollout.play_episodes": "e9b4bce11d52",
    "tricks.loop.policy_loss": "44f234f9a63e",
    "tricks.loop.value_loss": "7b4e8af5fcba",
    "tricks.segments.play_segment": "d0db3d3110a3",
    "tricks.worlds.acrobot.dynamics": "242e1a6150ea",
    "tricks.worlds.acrobot.observe": "525c1c81cf00",
    "tricks.worlds.cartpole.dynamics": "dace3a765cad",
    "tricks.worlds.pendulum.dynamics": "01934defee7c",
    "tricks.worlds.pendulum.observe": "af3ad3c7eca7",
}
FORMULAS: dict[str, tuple[Function, Callable[[], Function]]] = {}  # by name, with their compiled forms


class Attribute(NamedTuple):
    """A name in a class or module, and what stood there when this was made."""

    names: Mapping[str, Any]  # those of the class or module
    name: str
    kept: Any
    function: Function | None  # if it is one: what is beneath its decorators, and its code, which can change in place
    code: object
    ours: bool  # whether a compiled form stands for it, and not only for what reads it

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
    """What the name refers to now; None if a class inherits it."""
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
    """What a formula reads in its module, in comprehensions and lambdas, too: functions, constants and classes."""
    names, found = formula.__globals__, sorted(set(_names(formula.__code__)))
    return {name: names[name] for name in found if name in names and not inspect.ismodule(names[name])}


def _names(code: CodeType) -> Iterator[str]:
    """All names that it looks up. A comprehension has code of its own in some versions of Python."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def digest(*formulas: Function, known: Sequence[str] = ()) -> str:
    """Of their syntax, and of what they read in this package; the same in every version of Python.

    known: the flags that count; what others add does not.
    """
    texts = dict.fromkeys(text for each in formulas for text in _texts(each, set(), known))
    return sha256("".join(texts).encode()).hexdigest()[:12]


def written(name: str) -> str:
    """The digest of all that the compiled form of this formula was written for."""
    found = digest(*stands_for(name), known=known(name))
    text = "".join(_syntax(Known(known(name)).visit(_tree(each)).body) for each in user(name))
    return sha256(f"{found}{text}".encode()).hexdigest()[:12] if text else found


def user(name: str) -> list[Function]:
    """The function, if any, that a compiled form of this formula can be used in, and no other."""
    within = getattr(FORMULAS[name][1](), "within", None)
    return [] if within is None else [inspect.unwrap(formula(name).__globals__[within])]


def known(name: str) -> tuple[str, ...]:
    """The flags that the compiled form of a formula knows."""
    found: tuple[str, ...] = getattr(FORMULAS[name][1](), "flags", ())
    return found


@cache
def as_written(name: str, on: tuple[str, ...] = ()) -> bool:
    """Whether a formula is, with these flags on, as when its compiled form was written; if not, stderr says so.

    A flag that the formula asks for, and that the compiled form does not know, is a trick that was added since.
    """
    try:
        same = written(name) == DIGESTS[name]
        asked = {_flag(each) for f in (formula(name), *user(name)) for each in ast.walk(_tree(f))} - {*known(name)}
        added = [each for each in on if each in asked]
    except OSError:  # the text isn't there, so nobody can have edited it
        return True
    except SyntaxError:  # the file has changed since it was imported
        same, added = False, []
    if not same:
        print(f"{name}, or what it reads, was edited, so it runs as written, uncompiled", file=sys.stderr, flush=True)
    elif added:
        what = f"{name} runs as written, uncompiled: its compiled form does not know {', '.join(added)}"
        print(what, file=sys.stderr, flush=True)
    return same and not added


class Known(ast.NodeTransformer):
    """Takes out what `if tricks.flag:` adds, for every flag that is not known."""

    def __init__(self, flags: Sequence[str]) -> None:
        self.flags = flags

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        flag = _flag(node.test)
        return node if flag is None or flag in self.flags else node.orelse


def _flag(node: ast.AST) -> str | None:
    """The flag, if this is `tricks.flag`."""
    asked = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tricks"
    return cast(ast.Attribute, node).attr if asked else None


def _tree(function: Any) -> ast.AST:
    """Its syntax tree."""
    text = inspect.getsource(inspect.unwrap(function))
    return ast.parse(f"if True:\n{text}" if text[0].isspace() else text)  # a method is indented


def _texts(function: Any, seen: set[Any], known: Sequence[str]) -> Iterator[str]:
    """The syntax of a function or class; for a function, also that of all it reads in this package, and constants."""
    function = inspect.unwrap(function)
    if function in seen:
        return
    seen.add(function)
    tree = Known(known).visit(_tree(function))
    yield _syntax(tree.body)
    names = function.__globals__ if inspect.isfunction(function) else {}
    for name in sorted(set(_mentioned(tree)) & names.keys()):
        value = names[name]
        if isinstance(value, int | float | str | tuple | np.ndarray | np.generic | Tensor):
            yield f"{name} = {value.tolist() if isinstance(value, np.ndarray | np.generic | Tensor) else value}\n"
        elif _is_ours(value):
            yield from _texts(value, seen, known)


def _mentioned(node: ast.AST) -> Iterator[str]:
    """The names in a syntax tree that it looks up when it runs."""
    if isinstance(node, ast.Name):
        yield node.id
    for field, value in ast.iter_fields(node):
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST) and field not in (*UNREAD, "decorator_list"):
                yield from _mentioned(each)


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
