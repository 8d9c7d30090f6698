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


@pytest.mark.parametrize(
    ("commands", "earliest", "count"),
    [(("checkpoints",), 2.0, 1), pytest.param(tuple(COMMANDS), 0.0, 50, marks=pytest.mark.slow)],
)
def test_kills(
    commands: tuple[str, ...],
    earliest: float,
    count: int,
    undisturbed: Callable[[str], dict[str, object]],
    survives: Callable[..., None],
) -> None:
    expected = {command: undisturbed(command) for command in commands}
    survives("kills", kills(*commands, earliest=earliest), partial(attack, undisturbed=expected), count)
