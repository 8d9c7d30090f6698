"""The solutions of chapters get full points, and their notebooks as they are handed out none."""

import json
from pathlib import Path

import pytest
from support.submissions import handed_in

from chapters.__main__ import main
from chapters.book.build import CHAPTERS
from chapters.book.grading.asked import exercises


@pytest.mark.skipif(not (CHAPTERS / "solutions").exists(), reason="a student's copy has no solutions")
@pytest.mark.parametrize("name", ["02_reuse", "03_clip"])
def test_the_solutions_get_all_points_and_a_notebook_as_handed_out_gets_none(name: str, tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    solution = (CHAPTERS / "solutions" / f"{name}.py").read_text(encoding="utf-8")
    handed_in(tmp_path / "class" / "all.ipynb", added=(solution,), name=name)
    handed_in(tmp_path / "class" / "none.ipynb", name=name)
    assert main(["grade", str(tmp_path / "class"), "--out", str(tmp_path / "grades.json")]) == 0
    solved, unsolved = json.loads((tmp_path / "grades.json").read_text(encoding="utf-8"))["notebooks"]
    assert solved["points"] == solved["of"] == sum(bool(each.check) for each in exercises(name))
    assert {each["status"] for each in unsolved["exercises"]} == {"unanswered", "by hand"}
    assert unsolved["points"] == 0
