"""A module that a command names may be in the current folder, as for `python -m`, and a file there hides no library."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import ROOT

from tricks.cli import start as begin
from tricks.cli.start import Here, modules_here

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
    assert sys.path == before


@pytest.mark.parametrize("word", ["rooms:make", "--env=rooms:Room-v0", "ppo --wrap rooms:Loud(3)", "A-v0,rooms:B-v0"])
def test_only_what_is_named_is_found(word: str, folder: Path) -> None:
    with modules_here([word, "cuda:1", "10:30"]):
        (found,) = (finder for finder in sys.meta_path if isinstance(finder, Here))
        assert found.names == {"rooms"}
        assert found.find_spec("furniture") is None
        assert str(folder) not in sys.path
        assert found.find_spec("rooms") is not None
        assert sys.path[-1] == str(folder)
    assert found not in sys.meta_path


@pytest.mark.parametrize("words", ["play runs/x --gif a.gif", "train --device cuda:1", "C:\\x"])
def test_where_nothing_is_named_the_folder_counts_for_nothing(words: str) -> None:
    with modules_here(words.split()):
        finders = [finder for finder in sys.meta_path if isinstance(finder, Here)]
        assert all((finder.names, finder.find_spec("rooms")) == (set(), None) for finder in finders)


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
