"""A module that a command names may be in the current folder, as for `python -m`, and a file there hides no library."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import ROOT

from tricks.cli import start as begin
from tricks.cli.start import look_here

ROOMS = """
import gymnasium as gym
from furniture import LIMIT
from support.probes import Endless
def make():
    return gym.wrappers.TimeLimit(Endless(), LIMIT)
"""
SMALL = ["--env", "rooms:make", "--steps", "40", "--seeds", "1", "--lanes", "2", "--horizon", "10", "--hidden", "4"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module that imports another one there."""
    (tmp_path / "rooms.py").write_text(ROOMS)
    (tmp_path / "furniture.py").write_text("LIMIT = 5")
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("rooms", "furniture"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_a_command_finds_a_module_of_the_current_folder_and_what_that_imports(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["tricks", "train", *SMALL, "-q"])
    before = list(sys.path)
    assert begin.start("tricks.cli.main") == 0
    assert Path(sys.modules["rooms"].__file__ or "").parent == folder
    assert sys.path == [*before, str(folder)]  # after all that is installed


@pytest.mark.parametrize("word", ["rooms:make", "--env=rooms:Room-v0", "ppo --wrap rooms:Loud(3)", "A-v0,rooms:B-v0"])
def test_the_folder_of_a_module_that_is_named_counts(word: str, folder: Path) -> None:
    before = list(sys.path)
    look_here([word, "cuda:1", "10:30"])
    assert sys.path == [*before, str(folder)]


@pytest.mark.parametrize(
    "words", ["play runs/x --gif a.gif", "train --device cuda:1", "C:\\x", "nowhere:make", "json:x"]
)
def test_where_no_module_of_its_own_is_named_the_folder_counts_for_nothing(words: str, folder: Path) -> None:
    (folder / "json.py").touch()  # as installed
    before = list(sys.path)
    look_here(words.split())
    assert sys.path == before


def test_a_file_with_a_librarys_name_breaks_no_command(folder: Path) -> None:
    for name in ("torch", "random", "numpy", "envpool", "tricks"):
        (folder / f"{name}.py").write_text("raise SystemExit('imported from the current folder')")
    script = folder / "bin" / "tricks"
    script.parent.mkdir()
    script.write_text("import sys\nfrom tricks.__main__ import main\nsys.exit(main())")  # as pip writes it
    paths = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    command = [sys.executable, str(script), "train", "reinforce", *SMALL]
    done = subprocess.run(command, env=paths, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "return 5.0" in done.stdout
