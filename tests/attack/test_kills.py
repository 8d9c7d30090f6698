"""Stopped at any moment and given again, a command ends in what an undisturbed one leaves."""

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support.attack.kills import COMMANDS, OUT, attack, content, kills

from ablations.cli import main as ablations
from tricks.cli.main import main as tricks

MAIN = {"tricks": tricks, "ablations": ablations}
Survives = Callable[..., None]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, object]]:
    """What a command leaves if nothing happens to it."""
    known: dict[str, dict[str, object]] = {}

    def left(command: str) -> dict[str, object]:
        if command not in known:
            module, arguments = COMMANDS[command]
            with contextlib.chdir(tmp_path_factory.mktemp(command)):
                assert MAIN[module]([*arguments]) == 0
                known[command] = content(Path(OUT))
        return known[command]

    return left


def test_a_kill(undisturbed: Callable[[str], dict[str, object]], survives: Survives) -> None:
    expected = {"checkpoints": undisturbed("checkpoints")}
    survives("kills", kills("checkpoints", earliest=2), partial(attack, undisturbed=expected), 1)


@pytest.mark.slow
def test_many_kills(undisturbed: Callable[[str], dict[str, object]], survives: Survives) -> None:
    expected = {command: undisturbed(command) for command in COMMANDS}
    survives("kills", kills(*COMMANDS), partial(attack, undisturbed=expected), 50)
