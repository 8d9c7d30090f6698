"""Whether a plain formula is still the one that its compiled form was written for, so that an edit takes effect.

All that a formula says, and all that it reads in this package, has a digest. It is taken when a form is first wanted,
and anew whenever another function or constant stands where one was read.
"""

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from types import ModuleType
from typing import Any

import numpy as np
from torch import Tensor

from tricks.fast.digests import DIGESTS

UNREAD = ("annotation", "returns", "ctx", "type_comment", "type_params", "kind")  # of a syntax tree
FORMULAS: dict[str, "Formula"] = {}  # by name


class Formula:
    """A function that computes in PyTorch, and has a compiled form: the function of its name in a module.

    The form may say what more it stands for: `formulas`, pairs of a class or module and a name in it; `flags`, those
    that it knows; and `within`, the one function that can use what it returns.
    """

    def __init__(self, plain: Callable[..., Any], module: str) -> None:
        self.plain, self.module, self.name = plain, module, f"{plain.__module__}.{plain.__qualname__}"
        self._said = set[str]()
        self._kept = dict[tuple[str, ...], tuple[Reading, bool]]()
        FORMULAS[self.name] = self

    @cached_property
    def form(self) -> Any:
        return getattr(importlib.import_module(self.module), self.plain.__name__)

    def as_written(self, on: tuple[str, ...] = ()) -> bool:
        """Whether it is, with these flags on, what its form was written for; if not, stderr says so once."""
        if on not in self._kept or not self._kept[on][0].unchanged:
            reading, why_not = self._judged(on)
            self._kept[on] = reading, not why_not
            if why_not and why_not not in self._said:
                self._said.add(why_not)
                print(f"{self.name}{why_not}", file=sys.stderr, flush=True)
        return self._kept[on][1]

    def reading(self) -> "Reading":
        """All that its form was written for."""
        found = Reading(getattr(self.form, "flags", ()))
        found.take(self.plain)
        for owner, name in getattr(self.form, "formulas", ()):
            found.look(vars(owner), name, getattr(owner, name))
        if within := getattr(self.form, "within", None):
            found.look(self.plain.__globals__, within, deep=False)
        return found

    def _judged(self, on: tuple[str, ...]) -> tuple["Reading", str]:
        """What it says now, and why its form does not stand for that. An unknown flag is a trick that was added."""
        try:
            found = self.reading()
        except (OSError, SyntaxError):  # there is no text, or a file has changed since it was imported
            return Reading(()), " can't be read as it was imported, so it runs as written, uncompiled"
        if found.digest != DIGESTS.get(self.name):
            return found, ", or what it reads, was edited or replaced, so it runs as written, uncompiled"
        added = ", ".join(each for each in on if each in found.unknown)
        return found, f" runs as written, uncompiled: its compiled form does not know {added}" if added else ""


class Reading(ast.NodeTransformer):
    """What functions say, and what those of this package that they call say: the same in every version of Python.

    known: the flags that count; what others add does not, but they are noted as `unknown`.
    """

    def __init__(self, known: Sequence[str]) -> None:
        self.known, self.unknown, self.texts = known, set[str](), list[str]()
        self._seen, self._looked = set[Any](), list[tuple[Mapping[str, Any], str, Any, Any, Any]]()

    @property
    def digest(self) -> str:
        return sha256("".join(self.texts).encode()).hexdigest()[:12]

    @property
    def unchanged(self) -> bool:
        """Whether all still stands where it was read, with the same code. (It is asked at every call.)"""
        for names, name, value, function, code in self._looked:
            if names.get(name) is not value or (function is not None and function.__code__ is not code):
                return False
        return True

    def look(self, names: Mapping[str, Any], name: str, inherited: Any = None, deep: bool = True) -> None:
        """Read what a name of a class or module refers to."""
        value: Any = names.get(name)
        function = inspect.unwrap(value) if hasattr(value, "__wrapped__") or inspect.isfunction(value) else None
        self._looked.append((names, name, value, function, getattr(function, "__code__", None)))
        value = inherited if value is None else value.func if isinstance(value, cached_property) else value
        if isinstance(value, int | float | str | tuple | np.ndarray | np.generic | Tensor):
            self.texts.append(f"{name} = {value.tolist() if hasattr(value, 'tolist') else value}\n")
        elif is_ours(value):
            self.take(value, deep)
        elif not isinstance(value, ModuleType):
            self.texts.append(f"{name}: {str(getattr(value, '__module__', '')).partition('.')[0]}\n")

    def take(self, function: Any, deep: bool = True) -> None:
        """Read a function or class; of a function, if `deep`, also all that it reads."""
        function = inspect.unwrap(function)
        if function in self._seen:
            return
        self._seen.add(function)
        text = inspect.getsource(function)
        tree = self.visit(ast.parse(f"if True:\n{text}" if text[0].isspace() else text))  # a method is indented
        self.texts.append(syntax(tree.body))
        names = function.__globals__ if inspect.isfunction(function) and deep else {}
        for name in sorted(set(mentioned(tree)) & names.keys()):
            self.look(names, name)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """Take out what `if tricks.flag:` adds, for every flag that is not known."""
        self.generic_visit(node)
        match node.test:
            case ast.Attribute(value=ast.Name(id="tricks"), attr=flag) if flag not in self.known:
                self.unknown.add(flag)
                return node.orelse
        return node


def mentioned(node: ast.AST) -> Iterator[str]:
    """The names in a syntax tree that it looks up when it runs."""
    if isinstance(node, ast.Name):
        yield node.id
    for field, value in ast.iter_fields(node):
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST) and field not in (*UNREAD, "decorator_list"):
                yield from mentioned(each)


def is_ours(value: Any) -> bool:
    """Whether this is a function or class of this package; one with a cache is a function, too."""
    code = inspect.isclass(value) or inspect.isfunction(getattr(value, "__wrapped__", value))
    return code and str(value.__module__).startswith("tricks.")


def syntax(node: Any) -> str:
    """A syntax tree as text, without comments, docstrings, and annotations: editing them changes no number."""
    if isinstance(node, list):
        prose = [isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in node]
        return f"[{' '.join(syntax(each) for each, idle in zip(node, prose, strict=True) if not idle)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: value for name, value in ast.iter_fields(node) if name not in UNREAD and value not in (None, [])}
    return f"{type(node).__name__}({' '.join(f'{name}={syntax(value)}' for name, value in fields.items())})"
