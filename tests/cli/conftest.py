"""Each test has an empty current folder of its own, and runs commands in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tricks.cli.main import main


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs `python -m tricks` with these words, which must end as `status` says, and returns what it prints."""

    def run(words: str, status: int = 0) -> str:
        capsys.readouterr()
        assert main(words.split()) == status
        said = capsys.readouterr()
        return said.err if status else said.out

    return run
