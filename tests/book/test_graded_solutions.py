"""The solutions of chapters get full points, and their notebooks as they are handed out none."""

import json
from pathlib import Path

import pytest
from support.submissions import cells, handed_in

from chapters.__main__ import main
from chapters.book.build import CHAPTERS, names
from chapters.book.grading.answering import answered
from chapters.book.grading.asked import exercises
from chapters.book.grading.judging import cases_of, exercise, verdict

pytestmark = pytest.mark.skipif(not (CHAPTERS / "solutions").exists(), reason="a student's copy has no solutions")


def solution(name: str) -> str:
    return (CHAPTERS / "solutions" / f"{name}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in names() if exercises(name)])
def test_the_solutions_are_right_in_cases_at_random_too(name: str) -> None:
    for asked in filter(lambda asked: asked.check, exercises(name)):
        check, cases = exercise(asked), cases_of(asked, 12)
        reply = answered(cells(solution(name), name=name), asked.check, asked.answer, cases, check.gradients)
        assert verdict(check, asked, json.loads(json.dumps(reply)), cases).status == "right"


def test_the_solutions_get_all_points_and_a_notebook_as_handed_out_gets_none(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    for name in ("02_reuse", "28_your_own_trick"):  # the latter's inputs are functions
        handed_in(tmp_path / "class" / f"{name}-all.ipynb", added=(solution(name),), name=name)
        handed_in(tmp_path / "class" / f"{name}-none.ipynb", name=name)
    assert main(["grade", str(tmp_path / "class"), "--out", str(tmp_path / "grades.json"), "--workers", "2"]) == 0
    found = json.loads((tmp_path / "grades.json").read_text(encoding="utf-8"))["notebooks"]
    for solved, unsolved in (found[:2], found[2:]):
        assert solved["points"] == solved["of"] == sum(bool(each.check) for each in exercises(solved["name"]))
        assert {each["status"] for each in unsolved["exercises"]} == {"unanswered"}
        assert unsolved["points"] == 0
