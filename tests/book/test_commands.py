"""`python -m chapters`: what cannot be done is said in one line."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from chapters.__main__ import main
from chapters.book import handout
from tricks.cli.shell import guarded

main = partial(guarded, main)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sight", "unknown command 'sight' (did you mean site?)"),
        ("build 04_gea", "unknown chapter '04_gea' (did you mean 04_gae?)"),
        ("build x", "unknown chapter 'x'; the chapters are 00_reinforce, 01_baseline"),
        ("slides 03_clp --out .", "unknown chapter '03_clp' (did you mean 03_clip?)"),
        ("handout student.tar.gz", "must end in .zip, not student.tar.gz"),
        ("handout no/x.zip", "there is no folder no"),
        ("handout x.zip", "packs the last commit of a clone"),
        ("grade", "takes notebooks or folders"),
        ("grade nowhere.ipynb", "there is no file nowhere.ipynb"),
        ("grade empty", "there is no notebook in empty"),
        ("grade torn.ipynb", "torn.ipynb is not a Jupyter notebook"),
        ("grade other.ipynb", "other.ipynb is not a notebook of a chapter with exercises"),
        ("grade torn.ipynb --out grades.xlsx", "--out must end in .json or .csv"),
        ("grade torn.ipynb --out no/grades.csv", "--out: there is no folder no"),
        ("grade torn.ipynb --seconds 0", "must be more than 0"),
    ],
)
def test_bad_input_is_one_line(
    words: str, said: str, refuses: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(handout, "CLONE", tmp_path)
    Path("empty").mkdir()
    Path("torn.ipynb").write_text('{"cells": [')
    Path("other.ipynb").write_text('{"cells": []}')
    refuses(main, words.split(), said)
    assert {path.name for path in tmp_path.iterdir()} == {"empty", "torn.ipynb", "other.ipynb"}


@pytest.mark.parametrize(("command", "needed"), [("build", "chapters"), ("site", "site")])
def test_a_missing_package_is_named_with_the_extra_that_has_it(
    command: str, needed: str, refuses: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jupytext", None)
    refuses(main, [command], "cannot import jupytext")
    refuses(main, [command], f'pip install "ppo-tricks[{needed}]"')
