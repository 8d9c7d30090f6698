"""A class: whose answer is whose, what is left as it was handed out, and grades that survive whatever happens."""

import csv
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from support.submissions import RIGHT, handed_in

from chapters.__main__ import main
from chapters.book.build import CHAPTERS, names
from chapters.book.grading import grade
from chapters.book.grading.asked import Asked, cells, exercises, known
from chapters.book.grading.judging import Verdict
from chapters.book.grading.submission import read
from chapters.book.handout import handed_out
from tricks.cli.shell import guarded

TEXT = "Because the ratio is 1,\nand stays it."
Notebook = dict[str, Any]


def stored(name: str, copy: bool = True, ids: bool = True) -> Notebook:
    """A chapter as students get it, or as it is published; perhaps without ids, as some tools save it."""
    content = (CHAPTERS / f"{name}.ipynb").read_bytes()
    notebook: Notebook = json.loads(handed_out(f"chapters/{name}.ipynb", content) if copy else content)
    for cell in [] if ids else notebook["cells"]:
        del cell["id"]
    return notebook


def written(notebook: Notebook, folder: Path, name: str = "03_clip") -> dict[str, str]:
    """What was written, by exercise; `outside` for no exercise."""
    path = folder / "renamed.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    submission = read(path)
    assert submission.name == name
    found = {each.label: submission.written(each) for each in exercises(name)}
    return {label: text for label, text in (found | {"outside": submission.written(None)}).items() if text}


def place_of(notebook: Notebook, asked: Asked) -> int:
    begins = f"**Exercise {asked.number}:"
    return next(k for k, cell in enumerate(notebook["cells"]) if begins in "".join(cell["source"]))


def new(text: str) -> Notebook:
    return {"cell_type": "markdown", "source": text, "metadata": {}}


@pytest.mark.parametrize("name", names())
def test_each_exercise_has_a_cell_and_an_id_of_its_own(name: str) -> None:
    found = json.loads((CHAPTERS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    numbers = [cell["id"].rpartition("-exercise-")[2] for cell in found if "-exercise-" in cell["id"]]
    assert numbers == [str(each.number) for each in exercises(name)]
    assert {each.id for each in cells(name)} == {cell["id"] for cell in found} - {f"{name}-badges", f"{name}-setup"}


@pytest.mark.parametrize("ids", [True, False], ids=["with ids", "without ids"])
@pytest.mark.parametrize("name", known())
def test_an_answer_is_credited_to_its_own_exercise_and_what_was_handed_out_to_none(
    name: str, ids: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for asked in (each for each in exercises(name) if not each.check):
        below, inside = stored(name, ids=ids), stored(name, ids=ids)
        below["cells"].insert(place_of(below, asked) + 1, new(TEXT))
        inside["cells"][place_of(inside, asked)]["source"] += ["\n", TEXT]
        for notebook in (below, inside):
            assert written(notebook, tmp_path, name) == {asked.label: TEXT}
    monkeypatch.setattr(grade, "judge", lambda *_: pytest.fail("was run"))
    for copy in (True, False):
        notebook = stored(name, copy, ids)
        for cell in notebook["cells"]:  # a run, and an editor's spaces and comments
            cell["outputs"] = []
            cell["source"] = ["".join(cell["source"]).replace("\n\n", "\n \n") + "\n"]
            cell["source"] += ["# ran this"] * (cell["cell_type"] == "code") or ["<!-- answer here -->\n"]
        (tmp_path / "x.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
        graded = grade.sheet("x", tmp_path / "x.ipynb", grade.Limits(1, 1))
        assert {each.status for each in graded.exercises} == {"unanswered"}, graded
        assert (graded.error, graded.elsewhere) == ("", "")


def test_moved_cells_and_lost_headings_keep_an_answer_where_it_belongs(tmp_path: Path) -> None:
    second, third = exercises("03_clip")[1:3]
    moved, replaced, named, twice = (stored("03_clip") for _ in range(4))
    moved["cells"].insert(place_of(moved, third) + 2, new(TEXT))  # below the code of the bug
    del moved["cells"][place_of(moved, third)]
    assert written(moved, tmp_path) == {"3.3": TEXT}
    replaced["cells"][place_of(replaced, third)]["source"] = "Only this."
    replaced["cells"][place_of(replaced, second)]["source"] = "And this."
    replaced["cells"].reverse()
    assert written(replaced, tmp_path) == {"3.2": "And this.", "3.3": "Only this."}
    named["cells"] += [new("## My answer to Exercise 3\nno min"), new("Exercise 3.2\n\nnever"), new("still never")]
    heading = "## My answer to Exercise 3\nno min"
    assert written(named, tmp_path) == {"3.3": heading, "3.2": "Exercise 3.2\nnever\nstill never"}
    twice["cells"].insert(place_of(twice, second) + 1, new("first"))
    twice["cells"].insert(2, new("A note."))
    twice["cells"].append(new("Exercise 2: second"))
    assert written(twice, tmp_path) == {"3.2": "first\nExercise 2: second", "outside": "A note."}


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The labels of exercises that were judged, without running any."""
    found: list[str] = []

    def right(_: object, asked: Asked, __: object) -> Verdict:
        found.append(asked.label)
        return Verdict("right", "yes.")

    monkeypatch.setattr(grade, "judge", right)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "class").mkdir()
    for name in ("ada", "bob", "eve"):
        handed_in(tmp_path / "class" / f"{name}.ipynb", RIGHT)
    return tmp_path / "class"


def test_an_interrupted_run_keeps_what_is_graded_and_the_next_one_goes_on(
    folder: Path, judged: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, graded = folder.parent / "grades.csv", grade.sheet
    command = ["grade", str(folder), "--out", str(out), "--workers", "1", "--seed", "4"]

    def interrupted(shown: str, *given: Any, **named: Any) -> grade.Sheet:
        if shown == "bob.ipynb":
            raise KeyboardInterrupt
        return graded(shown, *given, **named)

    monkeypatch.setattr(grade, "sheet", interrupted)
    assert guarded(main, command) == 130
    assert "interrupted after 1 of 3 notebooks; the same command goes on" in capsys.readouterr().err
    with out.open(newline="") as file:
        assert [row[:2] for row in csv.reader(file)] == [["notebook", "points"], ["ada.ipynb", "1"]]
    monkeypatch.setattr(grade, "sheet", graded)
    judged.clear()
    assert main(command) == 0
    assert (len(judged), "1 of 3 notebooks" in capsys.readouterr().out) == (2, True)
    handed_in(folder / "eve.ipynb", RIGHT + "\n# better")
    shutil.copy(folder / "ada.ipynb", folder / "new.ipynb")
    (folder / "bob.ipynb").unlink()
    judged.clear()
    assert main([*command[:-2]]) == 0  # the seed is that of before
    shown = capsys.readouterr().out
    assert (len(judged), "--seed 4" in shown, "Not in this run, and kept: bob.ipynb." in shown) == (2, True, True)
    assert main([*command[:-1], "5"]) == 0  # with another one, everything is graded anew
    assert len(judged) == 2 + 3


def test_whatever_is_wrong_with_a_notebook_is_a_row_and_ends_nothing(
    folder: Path, judged: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    good = (folder / "ada.ipynb").read_text(encoding="utf-8")
    cell = {"cell_type": "markdown", "metadata": {}, "source": "**Exercise " + "9" * 5000 + ": x.**"}
    strange = {
        "empty": b"",
        "no cells": b"{}",
        "latin": good.replace("Exercise", "\xc9xercise", 1).encode("latin-1"),
        "utf16": good.encode("utf-16"),
        "deep": b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "old": b'{"nbformat": 3, "worksheets": []}',
        "typed": b'{"cells": [{"cell_type": 3}]}',
        "other": b'{"cells": [{"cell_type": "code", "source": "1 + 1"}]}',
        "number": json.dumps({"cells": [cell]}).encode(),
        "03_clip": json.dumps({"cells": [cell | {"source": "**Exercise 2: think.** x\n" * 100_000}]}).encode(),
    }
    for name, content in strange.items():
        (folder / f"{name}.ipynb").write_bytes(content)
    (folder / "enormous.ipynb").write_bytes(b"")
    with (folder / "enormous.ipynb").open("r+b") as file:
        file.truncate(65_000_000)
    (folder / "folder.ipynb").mkdir()
    (folder / "script.py").write_text("def my_surrogate(): ...")
    (folder / "UPPER.IPYNB").write_bytes(b"\xef\xbb\xbf" + good.encode())
    if sys.platform == "linux":
        shutil.copy(folder / "ada.ipynb", folder / os.fsdecode(b"\xff.ipynb"))
    assert main(["grade", str(folder), str(folder / "ada.ipynb"), "--out", str(folder / "grades.json")]) == 0
    shown = capsys.readouterr().out
    rows = json.loads((folder / "grades.json").read_text(encoding="utf-8"))["notebooks"]
    found = {Path(each["notebook"]).stem: each for each in rows}
    assert {name for name, each in found.items() if each["error"]} == {*strange, "enormous"} - {"03_clip"}
    assert "notebook format 3" in found["old"]["error"]
    assert {found[name]["points"] for name in ("ada", "bob", "eve", "UPPER")} == {1}
    assert "script.py" in shown.split("doesn't end in .ipynb")[1]
    assert [Path(each["notebook"]).stem for each in rows].count("ada") == 1  # named twice


def test_a_message_without_an_encoding_is_written_and_a_file_of_somebody_elses_is_not_written_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grade, "judge", lambda *_: Verdict("fails", "raises X: \udcff\x1b[2J"))
    grades = folder / "grades.json"
    for ending in ("json", "csv"):
        assert main(["grade", str(folder), "--out", str(grades.with_suffix(f".{ending}"))]) == 0
    assert json.loads(grades.read_text(encoding="utf-8"))["notebooks"][0]["points"] == 0
    grades.write_text('{"mine": 1}')
    monkeypatch.setattr(grade, "judge", lambda *_: pytest.fail("was run"))
    assert guarded(main, ["grade", str(folder), "--out", str(folder / "grades.csv")]) == 2
    assert grades.read_text() == '{"mine": 1}'
