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
        assert not formulas.as_written("tricks.core.reductions.mean")
    finally:
        formulas.as_written.cache_clear()
    assert "tricks.core.reductions.mean, or what it reads, was edited" in capsys.readouterr().err
