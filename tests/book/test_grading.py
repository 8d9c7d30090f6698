"""Grading: only the answer's own statements run, and no student's code decides its own verdict."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.submissions import CHECK, HOSTILE, RIGHT, WRONG, cells, handed_in

from chapters.__main__ import main
from chapters.book.build import CHAPTERS, names
from chapters.book.grading.answering import answered
from chapters.book.grading.asked import exercises
from chapters.book.grading.grade import plain
from chapters.book.grading.judging import Limits, Verdict, apart, cases_of, exercise, judge, verdict
from chapters.exercises.clip import check_surrogate

SURROGATE, FLOOR = (each for each in exercises("03_clip") if each.check)
ASK = (SURROGATE.check, SURROGATE.answer, check_surrogate.cases, check_surrogate.gradients)
SOLUTIONS = pytest.mark.skipif(not (CHAPTERS / "solutions").exists(), reason="a student's copy has no solutions")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other systems limit no time on the processor and no memory")
BODY = "def my_surrogate(ratio, advantage, epsilon):\n    "
LATE = " (a statement before it raised ZeroDivisionError: division by zero)"


def here(*code: str) -> Verdict:
    """The verdict on exercise 1 of chapter 3 with these cells added, run in this process."""
    return verdict(check_surrogate, SURROGATE, json.loads(json.dumps(answered(cells(*code), *ASK))))


def apart_from_here(*code: str, seconds: float = 20) -> Verdict:
    """The same, run as `grade` does."""
    return judge(cells(*code), SURROGATE, Limits(seconds, 500_000_000))


def test_every_check_of_every_chapter_is_asked_for_once() -> None:
    for name in [name for name in names() if exercises(name)]:
        script = (CHAPTERS / f"{name}.py").read_text(encoding="utf-8")
        asked = exercises(name)
        assert [each.number for each in asked] == list(range(1, len(asked) + 1))
        assert [each.check for each in asked if each.check] == [
            line.split("(")[0] for line in script.splitlines() if line.startswith("check_")
        ]
        for each in filter(lambda each: each.check, asked):
            module = __import__(f"chapters.exercises.{each.module}", fromlist=[each.check])
            assert getattr(module, each.check).cases


def test_a_verdict_is_a_word_and_the_exercises_own_sentence() -> None:
    assert here(RIGHT) == Verdict("right", "in 3 of 3 cases.", ())
    said = "the minimum is missing. An action that has gone the wrong way must keep its gradient to come back."
    assert here(WRONG + CHECK) == Verdict("wrong", said, ())
    assert here() == Verdict("unanswered", "the function is not written yet")
    misspelled = here(RIGHT.replace("torch.minimum", "torch.mininum"))
    assert (misspelled.status, "raises AttributeError" in misspelled.said) == ("fails", True)
    late = here("K = 1 / 0", RIGHT.replace("1 +", "K +"))
    assert late.said.endswith(f"NameError: name 'K' is not defined{LATE}")
    whole = "def my_surrogate(r, a, e):\n    return clipped_surrogate(r[None], a[None], torch.tensor([e]))[0]"
    assert here(whole + CHECK) == Verdict("right", "in 3 of 3 cases.", ("clipped_surrogate",))  # what it takes
    assert here("check_surrogate(check_surrogate.right)").uses == ("check_surrogate",)


def test_only_what_the_last_answer_needs_is_run_wherever_it_stands() -> None:
    helper = "import torch as t\nlow = lambda x: 1 - x\ndef small(a, b):\n    return t.minimum(a, b)\n1 / 0"
    loop = "while True:\n    pass"
    own = "def mine(r, a, e):\n    return small(r * a, r.clamp(low(e), 1 + e) * a)\n%timeit mine\ncheck_surrogate(mine)"
    assert here(loop, helper, own, "exit()", "half a (cell").status == "right"
    assert here(RIGHT, WRONG + CHECK).status == "wrong"
    assert here(RIGHT.removesuffix(CHECK)).status == "right"  # below the check, which was run again
    assert here("x = 1", "x = x + 1", RIGHT.replace("1 +", "x - 1 +")).status == "right"


def test_an_answer_without_its_check_is_found_by_its_name_and_one_without_both_is_missing() -> None:
    alone = [(number, source) for number, source in cells() if "def my_surrogate" not in source]
    assert answered(alone, *ASK) == {"missing": True}
    reply = answered([*alone, (99, RIGHT.removesuffix(CHECK))], *ASK)
    assert verdict(check_surrogate, SURROGATE, reply).status == "right"
    broken = answered([*alone, (99, "x = 1\ndef my_surrogate(a, b:\n    pass")], *ASK)
    assert broken["fault"].startswith("its cell is not Python: cell 99, line 2: ")


def test_what_a_student_prints_or_patches_does_not_make_an_answer_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hidden")
    assert apart_from_here(HOSTILE["patches"]).status in ("wrong", "stopped")
    hostile = HOSTILE["patches"].replace("range(3, 30)", "range(0)").replace("json.dump = ", "x = ")
    assert apart_from_here(hostile.replace("answering.encoded = ", "y = ")).status == "wrong"


def test_an_answer_that_leaves_costs_only_its_own_points() -> None:
    assert apart_from_here(BODY + "import os; os._exit(0)").said == "its process ended without an answer (status 0)"
    assert apart_from_here(BODY + "exit(3)").said.endswith("raises SystemExit: 3")


@LINUX
@pytest.mark.parametrize("asleep", [False, True])
def test_an_answer_that_loops_is_stopped_even_while_nobody_watches_the_clock(
    asleep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if asleep:  # as if this process, or the computer, slept meanwhile
        monkeypatch.setattr("time.monotonic", lambda: 0.0)
    found = apart_from_here(BODY + "while True: pass", seconds=1)
    assert found == Verdict("stopped", "it took longer than 1 second and was stopped")


@LINUX
def test_an_answer_that_takes_all_memory_fails() -> None:
    filled = apart_from_here(BODY + "return [0] * 2_000_000_000")
    assert (filled.status, "MemoryError" in filled.said) == ("fails", True)


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("unshare") is None, reason="no unshare")
def test_an_answer_reaches_no_network_where_a_user_may_have_namespaces() -> None:
    if subprocess.run(["unshare", "--user", "--map-current-user", "--net", "--pid", "--fork", "true"]).returncode:
        pytest.skip("this system gives a user no namespaces")
    call = "import socket; socket.create_connection(('127.0.0.1', 9), timeout=5)"
    done = subprocess.run([*apart(), sys.executable, "-c", call], capture_output=True, text=True)
    assert "Network is unreachable" in done.stderr


def test_a_class_is_a_table_and_a_report_and_a_notebook_that_cannot_be_read_does_not_stop_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("ada", ".ipynb_checkpoints"):
        (tmp_path / folder).mkdir()
    handed_in(tmp_path / "ada" / "mine.ipynb", RIGHT, ("# **Exercise 2: think.**", "# Never:\n\nevery ratio is 1."))
    handed_in(tmp_path / ".ipynb_checkpoints" / "old.ipynb", WRONG)
    (tmp_path / "bob.ipynb").write_text("{}")
    eve = json.loads((CHAPTERS / "02_reuse.ipynb").read_text(encoding="utf-8"))
    place = next(k for k, cell in enumerate(eve["cells"]) if "Exercise 2" in "".join(cell["source"]))
    eve["cells"].insert(place + 1, {"cell_type": "markdown", "source": ["It vanishes\n", "or explodes."]})
    (tmp_path / "eve.ipynb").write_text(json.dumps(eve))
    assert main(["grade", str(tmp_path), "--out", str(tmp_path / "grades.csv")]) == 0
    shown = capsys.readouterr().out
    assert "ada/mine.ipynb: chapter 3, 1 of 2 points" in shown
    assert "bob.ipynb: not graded: " in shown
    assert "by hand: 4 words to read" in shown
    with (tmp_path / "grades.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["notebook", "points", "of", "2.1", "3.1", "3.4", "note"]
    assert rows[0] == ["ada/mine.ipynb", "1", "2", "", "1", "0", ""]
    assert (rows[1][:6], "not a Jupyter notebook" in rows[1][6]) == (["bob.ipynb", "", "", "", "", ""], True)
    found = json.loads((tmp_path / "grades.json").read_text())["notebooks"][2]
    assert (found["name"], found["points"], found["of"]) == ("02_reuse", 0, 1)
    first, second, third = found["exercises"]
    assert (first["status"], first["points"]) == ("unanswered", 0)
    assert (second["points"], second["written"]) == (None, "It vanishes\nor explodes.")
    assert third["written"] == ""


def test_nothing_of_a_student_reaches_the_terminal_as_a_command() -> None:
    assert plain("\x1b[2Jred\r\n\tx" + os.linesep) == "?[2Jred x"


def solution(name: str) -> str:
    return (CHAPTERS / "solutions" / f"{name}.py").read_text(encoding="utf-8")


@SOLUTIONS
@pytest.mark.parametrize("name", [name for name in names() if exercises(name)])
def test_the_solutions_are_right_in_cases_at_random_too(name: str) -> None:
    for asked in filter(lambda asked: asked.check, exercises(name)):
        check, cases = exercise(asked), cases_of(asked, 12)
        reply = answered(cells(solution(name), name=name), asked.check, asked.answer, cases, check.gradients)
        assert verdict(check, asked, json.loads(json.dumps(reply)), cases).status == "right"


@SOLUTIONS
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
