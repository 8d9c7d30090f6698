"""No command line ends in a traceback: each works, or is refused in one line."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support.attack.command_lines import ABLATIONS, TRICKS, attack

Survives = Callable[..., None]


def test_a_few_command_lines(saved: Path, cut: Path, survives: Survives) -> None:
    survives("python -m tricks", TRICKS, partial(attack, saved=saved, cut=cut), 50)


def test_a_few_command_lines_of_the_ablations(saved: Path, cut: Path, survives: Survives) -> None:
    survives("python -m ablations", ABLATIONS, partial(attack, saved=saved, cut=cut), 16)


@pytest.mark.slow
def test_many_command_lines(saved: Path, cut: Path, survives: Survives) -> None:
    survives("python -m tricks", TRICKS, partial(attack, saved=saved, cut=cut), 600)


@pytest.mark.slow
def test_many_command_lines_of_the_ablations(saved: Path, cut: Path, survives: Survives) -> None:
    survives("python -m ablations", ABLATIONS, partial(attack, saved=saved, cut=cut), 200)
