"""Which notebooks the tests execute: those whose code, imports or results have changed, and two canaries."""

import json
import symtable
from pathlib import Path

import pytest

from chapters.book.inputs import CANARIES, KEY, ROOT, digest, due, is_stale
from chapters.book.two_hours import STOPS, TAG, Stop, stored

CODE = "from ablations import read\nfrom tricks import listing, train as play\nplay('CartPole-v1', 'ppo')"
REACHED = {
    "tricks/loop.py": "from tricks.clip import clipped\nfrom tricks.squash import squashed\nimport tricks.worlds\n",
    "tricks/worlds/__init__.py": "from tricks.worlds.dial import DIAL",
    "tricks/clip.py": "def late():\n    from tricks.core import (\n        adam,\n    )\n",
    "tricks/core/adam.py": "import os",
    "tricks/listing.py": "",
    "tricks/fused/learning.py": "",
    "ablations/analysis/study_files.py": "",
    "ablations/results/x.csv": "",
}
OTHERS = {
    "tricks/__init__.py": "if late:\n    from tricks.loop import train\n    from tricks.listing import listing\n",
    "tricks/core/__init__.py": "",
    "ablations/__init__.py": "from ablations.analysis.study_files import read\nfrom ablations.report import page",
    "ablations/report.py": "",
    "tricks/cli.py": "from tricks import train",
    "tricks/squash.py": "",
    "tricks/worlds/dial.py": 'DIAL = World(id="tricks/Dial-v0")',
}


def repository(folder: Path, changed: str = "") -> Path:
    for name, text in (REACHED | OTHERS).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text + "\n# changed" * (name == changed))
    return folder


def stored_at(root: Path, code: str = CODE, then: str = "", words: str = "Words.", name: str = "x") -> Path:
    """A notebook that is up to date, but for its words and the code that was added then."""
    code_cell: dict[str, object] = {"cell_type": "code", "source": code, "metadata": {}}
    made: dict[str, object] = {"cells": [code_cell], "metadata": {}}
    made["metadata"] = {KEY: digest(made, root)}
    made["cells"] = [{"cell_type": "markdown", "source": words}, code_cell | {"source": code + then}]
    (root / f"{name}.ipynb").write_text(json.dumps(made))
    return root / f"{name}.ipynb"


def test_a_notebook_is_executed_after_a_change_of_its_code_and_not_of_its_words(tmp_path: Path) -> None:
    repository(tmp_path)
    assert not due(stored_at(tmp_path, words="Other words."), tmp_path)
    assert due(stored_at(tmp_path, then="\nplay()"), tmp_path)


@pytest.mark.parametrize("changed", [*REACHED, *OTHERS])
def test_a_changed_source_or_result_executes_what_reaches_it_and_nothing_else(tmp_path: Path, changed: str) -> None:
    path = stored_at(repository(tmp_path / "before"))
    assert due(path, repository(tmp_path / "after", changed)) == (changed in REACHED)


@pytest.mark.parametrize(("said", "name"), [("Tricks(squash=True)", "squash"), ("'tricks/Dial-v0'", "worlds/dial")])
def test_a_trick_or_world_counts_where_it_is_named(tmp_path: Path, said: str, name: str) -> None:
    path = stored_at(repository(tmp_path / "before"), f"{CODE}\n{said}")
    assert due(path, repository(tmp_path / "after", f"tricks/{name}.py"))


@pytest.mark.parametrize("name", CANARIES)
def test_a_canary_always_runs(tmp_path: Path, name: str) -> None:
    assert (ROOT / "chapters" / f"{name}.ipynb").exists()
    path = stored_at(repository(tmp_path), name=name)
    assert due(path, tmp_path)
    assert not is_stale(path, tmp_path)


def names(table: symtable.SymbolTable) -> tuple[set[str], set[str]]:
    """The names that a cell defines, and those that it takes from earlier ones."""
    defined = {each.get_name() for each in table.get_symbols() if each.is_assigned() or each.is_imported()}
    taken, inner = {each.get_name() for each in table.get_symbols()}, table.get_children()
    for function in inner:
        inner += function.get_children()
        taken |= {each.get_name() for each in function.get_symbols() if each.is_global()}
    return defined, taken - defined


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.name)
def test_a_stops_cells_find_what_they_find_in_their_chapters(stop: Stop) -> None:  # so outputs and errors are the same
    here: dict[str, str] = {}
    for chapter in stop.parts:
        there = dict[str, str]()
        for cell in [cell for cell in stored(chapter).cells if cell.cell_type == "code"]:
            defined, taken = names(symtable.symtable(cell.source, "", "exec"))
            there |= dict.fromkeys(defined, cell.id)
            if TAG in cell.metadata.get("tags", []):
                assert [name for name in taken & {*there} if here.get(name) != there[name]] == []
                here |= dict.fromkeys(defined, cell.id)
