"""A compiled form is known by the syntax that it was written for: an edit that changes a number is always seen."""

import ast
import importlib
import inspect
from collections.abc import Callable
from functools import cache
from inspect import cleandoc
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, patch

import pytest
from torch import nn

from tricks.core.layers import affine
from tricks.core.nets import Head
from tricks.fast import formulas
from tricks.fast.dispatch import faster

HALF, THIRD, FOURTH = 0.5, 1 / 3, (0.25, 1)


def formula(rows: list[float]) -> list[float]:
    """Each row, smaller."""
    smaller = lambda x: x * THIRD  # noqa: E731
    return [smaller(x) * HALF for x in rows if {x: FOURTH}]


def borrowed(x: float) -> Any:
    return cleandoc(str(again(x)))


def again(x: float, n: int = 1) -> float:
    return again(x * HALF, n - 1) if n else x


again.__module__ = "tricks.example"


class Owner:
    def method(self, x: float) -> float:
        """Its lines
        may begin anywhere.
        """
        return x * HALF


def digest_of(text: str, monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any] = formula) -> str:
    with monkeypatch.context() as patched:
        patched.setattr(inspect, "getsource", lambda _: text)
        return formulas.digest(function)


def test_what_comprehensions_and_lambdas_read_counts() -> None:
    assert formulas.read(formula) == {"HALF": HALF, "THIRD": THIRD, "FOURTH": FOURTH}


@pytest.mark.parametrize("name", ["HALF", "THIRD", "FOURTH"])
def test_another_constant_is_another_formula(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = formulas.digest(formula)
    monkeypatch.setitem(globals(), name, 2)
    assert formulas.digest(formula) != before


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        *[("* THIRD", "/ THIRD", True), ("* HALF", "+ HALF", True), ("smaller(x)", "x", True)],
        *[
            ("if {x: FOURTH}", "", True),
            ("list[float]", "Any", False),
            (" smaller.", " other words. # no comment", False),
        ],
    ],
)
def test_an_edit_is_seen_if_it_changes_a_number(
    old: str, new: str, seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = inspect.getsource(formula)
    edited = text.replace(old, new)
    assert ast.dump(ast.parse(edited)) != ast.dump(ast.parse(text))
    assert (digest_of(edited, monkeypatch) != digest_of(text, monkeypatch)) == seen
    assert formulas.digest(Owner.method)  # whose docstring begins anywhere


def test_a_formula_whose_file_was_broken_since_it_was_imported_takes_its_plain_form(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(inspect, "getsource", lambda _: "def mean(x:\n")
    formulas.as_written.cache_clear()
    try:
        assert not formulas.as_written("tricks.core.returns.discounted_sum")
    finally:
        formulas.as_written.cache_clear()
    assert "tricks.core.returns.discounted_sum, or what it reads, was edited" in capsys.readouterr().err


def test_a_formula_without_a_text_is_as_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(function: object) -> str:
        raise OSError("could not get source code")

    monkeypatch.setattr(inspect, "getsource", missing)
    assert formulas.as_written.__wrapped__("tricks.core.returns.discounted_sum")


@pytest.mark.parametrize("indent", ["    ", " ", "\t"])
def test_a_method_may_be_indented_by_anything(indent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def method(self, x):\nI return x * HALF\n"
    indented = indent + text.replace("I", 2 * indent)
    assert digest_of(indented, monkeypatch, Owner.method) == formulas.digest(Owner.method)


def test_a_formula_is_what_it_reads_and_what_that_calls_but_not_other_packages() -> None:
    found = {each.name: each.kept for each in formulas.reads(borrowed)}
    assert found == {"cleandoc": cleandoc, "again": again, "HALF": HALF}
    with patch.object(inspect, "getsource", wraps=inspect.getsource) as asked:
        formulas.digest(borrowed)
    assert [call.args for call in asked.call_args_list] == [(borrowed,), (again,)]


def test_more_that_a_form_stands_for_is_listed_with_what_ours_of_it_reads() -> None:
    forward, call, *read = formulas.attributes((Head, "forward"), (nn.Module, "add_module"))
    assert (forward.names, forward.name, forward.kept, forward.ours) == (vars(Head), "forward", Head.forward, True)
    assert (call.name, call.kept, call.ours) == ("add_module", nn.Module.add_module, False)
    assert not any(each.ours for each in read)
    assert [each.kept for each in read] == [affine, *(each.kept for each in formulas.reads(affine))]


def test_a_name_counts_as_changed_if_its_value_or_its_code_is(monkeypatch: pytest.MonkeyPatch) -> None:
    cached = cache(again)
    names = {"HALF": HALF, "again": again, "cached": cached}
    kept = [formulas.attribute(names, name) for name in (*names, "absent")]
    assert [each.function for each in kept] == [None, again, again, None]
    assert formulas.all_unchanged(kept)
    for name in (*names, "absent"):
        with patch.dict(names, {name: borrowed}):
            assert [each.unchanged for each in kept] == [each.name != name for each in kept]
    monkeypatch.setattr(again, "__code__", (lambda x, n=1: x).__code__)
    assert [each.unchanged for each in kept] == [True, False, False, True]


@pytest.mark.parametrize(
    ("module", "more", "at_once"), [("tricks.x", {}, True), ("tricks.x", {"late": True}, False), ("x", {}, False)]
)
def test_a_form_of_another_folder_is_imported_at_once_unless_it_is_late(
    module: str, more: dict[str, Any], at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = lambda x: None  # noqa: E731
    asked = Mock(return_value=SimpleNamespace(again=form))
    monkeypatch.setattr(importlib, "import_module", asked)
    monkeypatch.setattr(formulas, "FORMULAS", {})
    computed = faster(module, **more)(again)
    assert asked.called == at_once
    (formula, found), *others = formulas.FORMULAS.values()
    assert (formula, found(), others, [*formulas.FORMULAS]) == (again, form, [], ["tricks.example.again"])
    monkeypatch.setitem(formulas.DIGESTS, "tricks.example.again", "")
    assert computed(1.0, n=2) == 0.25
