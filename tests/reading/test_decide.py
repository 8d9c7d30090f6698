"""Stores that nobody reads go, and those that something reads stay: known answers, line by line."""

from textwrap import dedent, indent

import libcst as cst
import pytest

from tricks.reading.dead import without_dead_stores
from tricks.reading.decide import text


def indented(lines: str) -> str:
    return indent(f"{lines}\n", "    ")


def body(function: cst.Module) -> str:
    return dedent(function.code.partition("\n")[2]).strip()


BOTH = "if y:\n    a = 1\nelse:\n    a = 2\nreturn a"
STORED = {
    "overwritten": ("a = x\na = y\nreturn a", "a = y\nreturn a"),
    "never read": ("a = x\nreturn y", "return y"),
    "read by its own successor": ("a = x\na = a + 1\nreturn a", "a = x\na = a + 1\nreturn a"),
    "one dead, and then what it read": ("a = x\nb = a\nreturn y", "return y"),
    "half a pair": ("a, b = x, y\na = 1\nreturn a, b", "b = y\na = 1\nreturn a, b"),
    "a pair of one call": ("a, b = pure(x)\nreturn b", "a, b = pure(x)\nreturn b"),
    "a pure call": ("a = pure(x)\na = y\nreturn a", "a = y\nreturn a"),
    "a call that may do something": ("a = act(x)\na = y\nreturn a", "a = act(x)\na = y\nreturn a"),
    "on both branches": (f"a = x\n{BOTH}", BOTH),
    "carried around a loop": ("a = x\nwhile y:\n    use(a)\n    a = y",) * 2,
    "set anew in every turn": (
        "a = x\nfor i in y:\n    a = i\n    a = i + 1\n    use(a)",
        "for i in y:\n    a = i + 1\n    use(a)",
    ),
    "read where a loop is left": ("a = x\nwhile y:\n    a = 1\n    break\nreturn a",) * 2,
    "read by a closure": ("a = x\ndef f():\n    return a\na = y\nreturn f",) * 2,
    "a paragraph keeps its comment": ("use(x)\n\n# Why.\na = x\nb = y\nreturn b", "use(x)\n\n# Why.\nb = y\nreturn b"),
}


@pytest.mark.parametrize(("before", "after"), STORED.values(), ids=STORED)
def test_dead_stores_go_and_live_ones_stay(before: str, after: str) -> None:
    function = cst.ensure_type(cst.parse_statement(f"def f(x, y):\n{indented(before)}"), cst.FunctionDef)
    left = without_dead_stores(function, lambda call: text(call.func) == "pure")
    assert body(cst.Module([left])) == after
