"""The two hours, and one stop more: made of the chapters' cells; and which notebooks the tests execute."""

import json
import re
import symtable
from pathlib import Path

import jupytext
import pytest

from chapters.book.build import CHAPTERS, names
from chapters.book.inputs import CANARIES, KEY, ROOT, digest, due, is_stale
from chapters.book.site.staging import whole_ppo
from chapters.book.site.train_here import HERE
from chapters.book.two_hours import END, START, STOPS, TAG, Stop, minutes, notebook, stored, table
from tricks.ladder import named


def test_stops_take_twenty_minutes_have_every_tagged_cell_and_say_where_they_end() -> None:
    assert max(minutes()) <= 20 and sum(minutes()[:6]) <= 120
    assert (CHAPTERS / "README.md").read_text(encoding="utf-8").split(START)[1].split(END)[0] == table()
    tagged = {name for name in names() for c in stored(name).cells if TAG in c.metadata.get("tags", [])}
    assert tagged == {chapter for stop in STOPS for chapter in stop.parts}
    assert "segments" in named("ppo").on and "segments" not in named("gae").on
    for text in (STOPS[3].ends, whole_ppo()):
        assert "core of PPO" in text and "[segments](13_segments.ipynb)" in text


@pytest.mark.parametrize("number", range(1, len(STOPS) + 1))
def test_a_stored_stop_is_made_of_the_chapters_cells_and_asks_for_nothing_that_it_lacks(number: int) -> None:
    stop, made = STOPS[number - 1], notebook(number)
    pairs = zip(stored(stop.name).cells, made.cells, strict=True)
    assert all(a.get(part) == b.get(part) for a, b in pairs for part in ("id", "source", "metadata", "outputs"))
    of_chapters = {cell.source for chapter in stop.parts for cell in stored(chapter).cells}
    own = [cell for cell in made.cells if cell.source not in of_chapters]
    assert len(own) == 2 + sum(bool(words) for words in stop.parts.values())
    assert all(cell.cell_type == "markdown" for cell in own)
    text = "\n".join(cell.source for cell in made.cells)
    asked = re.findall(r"^\*\*Exercise (\d)", text, re.M)
    assert asked == [f"{k}" for k in range(1, len(asked) + 1)] != []
    assert {*re.findall(r"[Ee]xercise (\d)", text)} <= {*asked}
    assert not [link for link in re.findall(r"\]\(([\w./-]+)[)#]", text) if not (CHAPTERS / link).exists()]
    assert stop.plays in (*HERE, "")
    assert jupytext.read(CHAPTERS / f"{stop.name}.ipynb").metadata.jupytext == {"formats": "ipynb"}
    assert not (CHAPTERS / f"{stop.name}.py").exists()


CODE = "from ablations import read\nfrom tricks import listing, train as play\nplay('CartPole-v1', 'ppo')"
EMPTY = "tricks/listing.py", "tricks/fused/losses.py", "ablations/analysis/records.py", "ablations/results/x.csv"
REACHED = {
    "tricks/loop.py": "from tricks.clip import clipped\nfrom tricks.squash import squashed\nimport tricks.worlds\n",
    "tricks/worlds/__init__.py": "from tricks.worlds.dial import DIAL",
    "tricks/clip.py": "def late():\n    from tricks.core import (\n        adam,\n    )\n",
    "tricks/core/adam.py": "import os",
} | dict.fromkeys(EMPTY, "")
OTHERS = {
    "tricks/__init__.py": "if late:\n    from tricks.loop import train\n    from tricks.listing import listing\n",
    "tricks/core/__init__.py": "",
    "ablations/__init__.py": "from ablations.analysis.records import read\nfrom ablations.report import page",
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
    assert due(path, tmp_path) and not is_stale(path, tmp_path)


def names_in(table: symtable.SymbolTable) -> tuple[set[str], set[str]]:
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
            defined, taken = names_in(symtable.symtable(cell.source, "", "exec"))
            there |= dict.fromkeys(defined, cell.id)
            if TAG in cell.metadata.get("tags", []):
                assert [name for name in taken & {*there} if here.get(name) != there[name]] == []
                here |= dict.fromkeys(defined, cell.id)
