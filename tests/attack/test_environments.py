"""Whatever an environment does, its seed diverges, or one line says what is wrong."""

from collections.abc import Callable

import pytest
from support.attack.environments import FAULTY, attack

Survives = Callable[..., None]


def test_a_few_environments_that_misbehave(survives: Survives) -> None:
    survives("environments", FAULTY, attack, 60)


@pytest.mark.slow
def test_many_environments_that_misbehave(survives: Survives) -> None:
    survives("environments", FAULTY, attack, 200)
