"""The glossary: few terms, each once, and each is something in the code."""

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"
ROWS = re.findall(r"^\| (\w[\w ]*) \|.*\| (`.*`) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_there_are_few_terms_and_each_has_one_row() -> None:
    terms = [term for term, _ in ROWS]
    assert 25 <= len(terms) <= 36
    assert len(set(terms)) == len(terms)
    assert len(terms) == PAGE.read_text(encoding="utf-8").count("\n| ") - 1  # without the head


@pytest.mark.parametrize(("term", "where"), ROWS)
def test_a_term_is_something_in_the_code(term: str, where: str) -> None:
    for path in re.findall(r"`([\w.]+)`", where):
        home, _, name = path.rpartition(".")
        module = import_module(home)
        if not hasattr(module, name):
            import_module(path)
