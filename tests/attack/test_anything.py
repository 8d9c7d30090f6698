"""Whatever is asked on a command line or from Python, and whatever an environment does: it works, or one line says why.

Of everything, a few cases; when slow tests are asked for, many.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support.attack import command_lines, environments, python_calls

from tricks import load

Survives = Callable[..., None]


def tried(few: int, many: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.slow)])


@tried(50, 600)
def test_command_lines(count: int, saved: Path, cut: Path, survives: Survives) -> None:
    survives("python -m tricks", command_lines.TRICKS, partial(command_lines.attack, saved=saved, cut=cut), count)


@tried(16, 200)
def test_command_lines_of_the_ablations(count: int, saved: Path, cut: Path, survives: Survives) -> None:
    survives("python -m ablations", command_lines.ABLATIONS, partial(command_lines.attack, saved=saved, cut=cut), count)


@tried(150, 500)
def test_calls_from_python(count: int, saved: Path, survives: Survives) -> None:
    survives("calls from Python", python_calls.calls(), partial(python_calls.attack, run=load(saved)), count)


@tried(60, 200)
def test_environments_that_misbehave(count: int, survives: Survives) -> None:
    survives("environments", environments.FAULTY, environments.attack, count)
