"""No argument from Python ends in a raw TypeError: each call works, or is refused in one line."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support.attack.python_calls import attack, calls

from tricks import load

Survives = Callable[..., None]


def test_a_few_calls(saved: Path, survives: Survives) -> None:
    survives("calls from Python", calls(), partial(attack, run=load(saved)), 150)


@pytest.mark.slow
def test_many_calls(saved: Path, survives: Survives) -> None:
    survives("calls from Python", calls(), partial(attack, run=load(saved)), 500)
