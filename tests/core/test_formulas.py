"""A compiled form is known by the syntax that it was written for: an edit that changes a number is always seen."""

import ast
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from tricks.fast import formulas

HALF, THIRD, FOURTH = 0.5, 1 / 3, (0.25, 1)


def formula(rows: list[float]) -> list[float]:
    """Each row, smaller."""
    smaller = lambda x: x * THIRD  # noqa: E731
    return [smaller(x) * HALF for x in rows if {x: FOURTH}]


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
    ("old", "new"), [("* THIRD", "/ THIRD"), ("* HALF", "+ HALF"), ("smaller(x)", "x"), ("if {x: FOURTH}", "")]
)
def test_an_edit_that_changes_a_number_is_seen(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = inspect.getsource(formula)
    assert old in text
    assert digest_of(text.replace(old, new), monkeypatch) != digest_of(text, monkeypatch)


def test_an_edit_that_changes_no_number_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    text = inspect.getsource(formula)
    edited = text.replace('"""Each row, smaller."""', '"""Other words."""  # and a comment').replace(
        "list[float]", "Any"
    )
    assert ast.dump(ast.parse(edited)) != ast.dump(ast.parse(text))
    assert digest_of(edited, monkeypatch) == digest_of(text, monkeypatch)


def test_a_method_whose_docstring_begins_anywhere_has_a_digest() -> None:
    assert formulas.digest(Owner.method)


def test_a_formula_whose_file_was_broken_since_it_was_imported_takes_its_plain_form(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(inspect, "getsource", lambda _: "def mean(x:\n")
    formulas.as_written.cache_clear()
    try:
        assert not formulas.as_written("tricks.core.reductions.mean")
    finally:
        formulas.as_written.cache_clear()
    assert "tricks.core.reductions.mean, or what it reads, was edited" in capsys.readouterr().err
