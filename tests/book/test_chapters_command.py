"""`python -m chapters`: what cannot be done is said in one line."""

import sys

import pytest

from chapters.__main__ import main
from tricks.errors import InputError


def test_an_unknown_command_gets_one_line() -> None:
    with pytest.raises(InputError, match=r"unknown command 'sight' \(did you mean site\?\)"):
        main(["sight"])


def test_an_unknown_chapter_gets_one_line() -> None:
    with pytest.raises(InputError, match=r"unknown chapter '04_gea' \(did you mean 04_gae\?\)"):
        main(["build", "04_gea"])
    with pytest.raises(InputError, match="unknown chapter 'x'; the chapters are 00_reinforce, 01_baseline"):
        main(["build", "x"])


@pytest.mark.parametrize(("command", "needed"), [("build", "chapters"), ("site", "site")])
def test_a_missing_package_is_named_with_the_extra_that_has_it(
    command: str, needed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jupytext", None)
    with pytest.raises(InputError, match=rf'cannot import jupytext.*pip install "ppo-tricks\[{needed}\]"'):
        main([command])
