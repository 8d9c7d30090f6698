"""Types are checked beside the tests, so that nobody waits for it."""

import subprocess
import sys
from pathlib import Path

import pytest


def test_mypy_finds_nothing() -> None:
    pytest.importorskip("mypy")
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-m", "mypy"], cwd=root, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
