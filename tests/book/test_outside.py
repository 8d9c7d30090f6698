"""A chapter outside the clone: with its notebook's file and the wheel alone, in an environment that has neither."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from support.pages import ROOT
from support.wheels import built, environment

CHAPTERS = ["02_reuse", "25_the_whole_ladder", "a1_qr_signs"]
RUN = """
import sys, nbformat, nbclient
notebook = nbformat.read("chapter.ipynb", as_version=4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, "chapter.ipynb")
"""
WHERE = """
import json, sys
json.dump({name: module.__file__ for name, module in sys.modules.items() if getattr(module, "__file__", None)},
          open("modules.json", "w"))
"""
NEWER = "Metadata-Version: 2.1\nName: torch\nVersion: 99.0\n"  # than pyproject.toml allows


class Place(NamedTuple):
    """An environment without the package, and where pip finds the wheel."""

    python: Path
    wheels: Path

    @property
    def installed(self) -> set[str]:
        """What is in the environment's own folder."""
        (folder,) = (self.python.parents[1]).rglob("site-packages")
        return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    pytest.importorskip("nbclient", reason="no nbclient: pip install -e '.[dev]'")
    folder = tmp_path_factory.mktemp("place")
    python = environment(folder, without=("torch-",))
    torch = folder / "packages" / "torch-99.0.dist-info"
    torch.mkdir()
    (torch / "METADATA").write_text(NEWER)
    place = Place(python, built(tmp_path_factory.mktemp("wheel")).parent)
    assert place.installed == {"linked.pth"}
    yield place
    names = {"tricks", "ablations", "chapters", "linked.pth"}
    assert {name for name in place.installed if not name.startswith("ppo_tricks-")} == names  # and no other PyTorch


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_runs_with_its_notebook_and_the_wheel_alone(name: str, place: Place, tmp_path: Path) -> None:
    notebook = nbformat.read(ROOT / "chapters" / f"{name}.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(WHERE))
    nbformat.write(notebook, tmp_path / "chapter.ipynb")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(place.wheels), "IPYTHONDIR": str(tmp_path / "ipython")}
    done = subprocess.run([place.python, "-c", RUN], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    modules = json.loads((tmp_path / "modules.json").read_text())
    assert {"tricks", "ablations", "chapters.book", "torch"} <= set(modules)
    assert [file for file in modules.values() if Path(file).is_relative_to(ROOT)] == []
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"chapter.ipynb", "modules.json", "ipython"}
