"""Stopped at any moment and given again, a command ends in what an undisturbed one leaves."""

from collections.abc import Callable
from functools import partial

import pytest
from support.attack.kills import COMMANDS, OUT, attack, content, kills
from support.commands import begin, ended

Survives = Callable[..., None]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, object]]:
    """What a command leaves if nothing happens to it."""
    known: dict[str, dict[str, object]] = {}

    def left(command: str) -> dict[str, object]:
        if command not in known:
            folder = tmp_path_factory.mktemp(command)
            assert ended(begin(*COMMANDS[command], folder))[0] == 0
            known[command] = content(folder / OUT)
        return known[command]

    return left


def test_a_kill(undisturbed: Callable[[str], dict[str, object]], survives: Survives) -> None:
    expected = {"checkpoints": undisturbed("checkpoints")}
    survives("kills", kills("checkpoints", earliest=2), partial(attack, undisturbed=expected), 1)


@pytest.mark.slow
def test_many_kills(undisturbed: Callable[[str], dict[str, object]], survives: Survives) -> None:
    expected = {command: undisturbed(command) for command in COMMANDS}
    survives("kills", kills(*COMMANDS), partial(attack, undisturbed=expected), 50)
