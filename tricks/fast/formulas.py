"""Whether a plain formula is still the one that its compiled form was written for, so that an edit takes effect.

All that a formula says, and all that it reads in this package, has a digest. It is taken when a form is first wanted,
and anew whenever another function or constant stands where one was read.
"""

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from hashlib import sha256
from textwrap import dedent
from typing import Any

import numpy as np
from torch import Tensor

from tricks.fast.digests import DIGESTS

FORMULAS: dict[str, "Formula"] = {}  # by name
OURS = re.compile(r"tricks\.(?!fast\.)")  # modules of formulas


class Formula:
    """A function that computes in PyTorch, and has a compiled form: the function of its name in a module.

    The form may say what more it stands for: `formulas`, pairs of a class or module and a name in it; `flags`, those
    that it knows; and `within`, the one function that can use what it returns.
    """

    def __init__(self, plain: Callable[..., Any], module: str) -> None:
        self.plain, self.module, self.name = plain, module, f"{plain.__module__}.{plain.__qualname__}"
        self._kept: Reading | None = None
        FORMULAS[self.name] = self

    @cached_property
    def form(self) -> Any:
        return getattr(importlib.import_module(self.module), self.plain.__name__)

    def as_written(self, on: Sequence[str] = ()) -> bool:
        """Whether it is, with these flags on, what its form was written for; if not, stderr says so once."""
        if self._kept is None or not self._kept.unchanged:
            try:
                self._kept = self.reading()
            except (OSError, SyntaxError):  # there is no text, or a file has changed since it was imported
                self._kept = Reading()
        if self._kept.digest != DIGESTS.get(self.name):
            say(f"{self.name}, or what it reads, was edited or replaced, so it runs as written, uncompiled")
            return False
        added = ", ".join(each for each in on if each in self._kept.unknown)  # tricks
        if added:
            say(f"{self.name} runs as written, uncompiled: its compiled form does not know {added}")
        return not added

    def reading(self) -> "Reading":
        """All that its form was written for."""
        found = Reading(getattr(self.form, "flags", ()))
        found.take(self.plain)
        for owner, name in getattr(self.form, "formulas", ()):
            found.look(partial(getattr, owner), name)
        if within := getattr(self.form, "within", None):
            found.look(self.plain.__globals__.get, within, deep=False)
        return found


@cache
def say(line: str) -> None:
    """On stderr, once."""
    print(line, file=sys.stderr, flush=True)


class Reading(ast.NodeTransformer):
    """What functions say, and what those of this package that they call say.

    Comments, docstrings, and the annotations of arguments don't count: editing them changes no number. Of what a flag
    adds, only that of the flags that are `known` does; the others are noted as `unknown`.
    """

    def __init__(self, known: Sequence[str] = ()) -> None:
        self.known, self.unknown, self.texts = known, set[str](), list[str]()
        self._seen, self._looked = set[Any](), list[tuple[Callable[[str], Any], str, Any, Any, Any]]()

    @cached_property
    def digest(self) -> str:
        return sha256("".join(self.texts).encode()).hexdigest()[:12]

    @property
    def unchanged(self) -> bool:
        """Whether all still stands where it was read, with the same code. (It is asked at every call.)"""
        for find, name, value, function, code in self._looked:
            if find(name) is not value or getattr(function, "__code__", None) is not code:
                return False
        return True

    def look(self, find: Callable[[str], Any], name: str, deep: bool = True) -> None:
        """Read what a name of a class or module refers to."""
        value = find(name)
        function = value.func if isinstance(value, cached_property) else inspect.unwrap(value)
        self._looked.append((find, name, value, function, getattr(function, "__code__", None)))
        if isinstance(value, int | float | str | tuple | np.ndarray | np.generic | Tensor):
            self.texts.append(f"{name} = {value.tolist() if hasattr(value, 'tolist') else value}\n")
        elif hasattr(function, "__qualname__") and OURS.match(function.__module__ or ""):
            self.take(function, deep)
        else:
            self.texts.append(f"{name}: {str(getattr(value, '__module__', '')).partition('.')[0]}\n")

    def take(self, function: Any, deep: bool = True) -> None:
        """Read a function or class; of a function, if `deep`, also all that it reads."""
        if function in self._seen:
            return
        self._seen.add(function)
        tree = self.visit(ast.parse(dedent(inspect.getsource(function))))
        for each in ast.walk(tree):
            if isinstance(each, ast.arg):
                each.annotation = None
            elif isinstance(each, ast.FunctionDef):
                each.returns = None
        self.texts.append(ast.unparse(tree))
        names = function.__globals__ if inspect.isfunction(function) and deep else {}
        for name in sorted({each.id for each in ast.walk(tree) if isinstance(each, ast.Name)} & names.keys()):
            self.look(names.get, name)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """Take out what `if tricks.flag:` adds, for every flag that is not known."""
        self.generic_visit(node)
        match node.test:
            case ast.Attribute(value=ast.Name(id="tricks"), attr=flag) if flag not in self.known:
                self.unknown.add(flag)
                return node.orelse
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)
