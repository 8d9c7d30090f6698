"""What is attacked: a small finished run, and an interrupted one. Only where memory and time can be bounded."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis.strategies import SearchStrategy
from support.attack.law import T, attacked
from support.training import interrupted

from tricks import PPO, Config, train

SMALL = Config(seeds=2, steps=64, lanes=2, horizon=8, hidden=(4,))


def pytest_ignore_collect() -> bool | None:
    return True if sys.platform != "linux" else None


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("attack") / "saved"
    train(SMALL, PPO).save(folder)
    return folder


@pytest.fixture(scope="session")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was interrupted after a checkpoint."""
    folder = tmp_path_factory.mktemp("attack") / "cut"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        interrupted(folder, replace(SMALL, steps=900, horizon=50), PPO, 2, patch)
    return folder


@pytest.fixture
def survives() -> Callable[..., None]:
    """Tries so many cases of an attack, prints the table, and fails if any of them broke the law."""

    def check(kind: str, cases: SearchStrategy[T], attack: Callable[[T], str], count: int) -> None:
        tally = attacked(kind, cases, attack, count)
        print(tally.text)
        assert not tally.failed, tally.text

    return check
