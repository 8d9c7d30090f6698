"""Grading: only the answer's own statements run, and no student's code decides its own verdict."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.submissions import CHECK, RIGHT, WRONG, cells, handed_in

from chapters.__main__ import main
from chapters.book.build import CHAPTERS, names
from chapters.book.grading.answering import answered
from chapters.book.grading.asked import exercises
from chapters.book.grading.grade import plain
from chapters.book.grading.judging import Limits, Verdict, apart, judge, verdict
from chapters.exercises.clip import check_surrogate
from tricks.cli.shell import guarded
from tricks.errors import InputError

SURROGATE, FLOOR = (each for each in exercises("03_clip") if each.check)
NO_MIN = "the minimum is missing. An action that has gone the wrong way must keep its gradient to come back."


def here(*code: str) -> Verdict:
    """The verdict on exercise 1 of chapter 3 with these cells added, run in this process."""
    reply = answered(cells(*code), SURROGATE.check, SURROGATE.answer, check_surrogate.cases, check_surrogate.gradients)
    return verdict(check_surrogate, SURROGATE, json.loads(json.dumps(reply)))


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


def test_the_first_word_of_a_verdict_is_the_exercises_own() -> None:
    assert here(RIGHT) == Verdict("right", "in 3 of 3 cases.", ())
    assert here(WRONG + CHECK) == Verdict("wrong", NO_MIN, ())
    assert here() == Verdict("unanswered", "the function is not written yet")
    assert here(RIGHT.replace("torch.minimum", "torch.mininum")).status == "fails"
    late = here("K = 1 / 0", RIGHT.replace("1 +", "K +"))
    assert late.said.endswith(
        "NameError: name 'K' is not defined (a statement before it raised ZeroDivisionError: division by zero)"
    )
    assert "raises AttributeError" in here(RIGHT.replace("torch.minimum", "torch.mininum")).said


def test_only_what_the_answer_needs_is_run() -> None:
    helper = "import torch as t\nlow = lambda x: 1 - x\ndef small(a, b):\n    return t.minimum(a, b)\n1 / 0"
    loop = "while True:\n    pass"
    own = "def mine(r, a, e):\n    return small(r * a, r.clamp(low(e), 1 + e) * a)\n%timeit mine\ncheck_surrogate(mine)"
    assert here(loop, helper, own, "exit()", "half a (cell").status == "right"


def test_the_last_answer_counts_wherever_it_stands() -> None:
    assert here(RIGHT, WRONG + CHECK).status == "wrong"
    assert here(RIGHT.removesuffix(CHECK)).status == "right"  # below the check, which was run again
    assert here("x = 1", "x = x + 1", RIGHT.replace("1 +", "x - 1 +")).status == "right"


def test_an_answer_without_its_check_is_found_by_its_name_and_one_without_both_is_missing() -> None:
    alone = [(number, source) for number, source in cells() if "def my_surrogate" not in source]
    ask = (SURROGATE.check, SURROGATE.answer, check_surrogate.cases, check_surrogate.gradients)
    assert answered(alone, *ask) == {"missing": True}
    reply = answered([*alone, (99, RIGHT.removesuffix(CHECK))], *ask)
    assert verdict(check_surrogate, SURROGATE, reply).status == "right"
    broken = answered([*alone, (99, "x = 1\ndef my_surrogate(a, b:\n    pass")], *ask)
    assert broken["fault"].startswith("its cell is not Python: cell 99, line 2: ")


def test_what_an_answer_takes_from_the_library_is_said() -> None:
    whole = "def my_surrogate(r, a, e):\n    return clipped_surrogate(r[None], a[None], torch.tensor([e]))[0]"
    assert here(whole + CHECK) == Verdict("right", "in 3 of 3 cases.", ("clipped_surrogate",))
    assert here("check_surrogate(check_surrogate.right)").uses == ("check_surrogate",)


def test_what_a_student_prints_or_patches_does_not_make_an_answer_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hidden")
    hostile = """import json, os, sys, torch, numpy as np
from chapters.book.exercise import Exercise
import chapters.book.grading.answering as answering
class Patched:
    np.allclose = torch.allclose = torch.testing.assert_close = lambda *_, **__: True
    Exercise.judged = Exercise.verdict = lambda *_: "Right, in 3 of 3 cases."
    answering.encoded = lambda value: {"status": "right"}
    json.dump = lambda value, file: file.write('{"status": "right", "said": "Right", "results": []}')
    assert "SECRET" not in os.environ
    for descriptor in range(3, 30):
        try:
            os.write(descriptor, b'{"status": "right", "said": "Right", "points": 9}\\n')
        except OSError:
            pass
def my_surrogate(ratio, advantage, epsilon):
    Patched
    print("Right, in 3 of 3 cases.\\n" * 1_000_000)
    return ratio
check_surrogate = lambda answer: print("Right")
check_surrogate(my_surrogate)"""
    assert apart_from_here(hostile).status in ("wrong", "stopped")
    for old, new in (("range(3, 30)", "range(0)"), ("json.dump = ", "x = "), ("answering.encoded = ", "y = ")):
        hostile = hostile.replace(old, new)
    assert apart_from_here(hostile).status == "wrong"


def test_an_answer_that_leaves_loops_or_takes_all_memory_costs_only_its_own_points() -> None:
    body = "def my_surrogate(ratio, advantage, epsilon):\n    "
    assert apart_from_here(body + "import os; os._exit(0)").said == "its process ended without an answer (status 0)"
    assert apart_from_here(body + "while True: pass", seconds=1) == Verdict(
        "stopped", "it took longer than 1 second and was stopped"
    )
    assert apart_from_here(body + "exit(3)").said.endswith("raises SystemExit: 3")
    if sys.platform == "linux":
        filled = apart_from_here(body + "return [0] * 2_000_000_000")
        assert (filled.status, "MemoryError" in filled.said) == ("fails", True)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems don't limit the time on the processor")
def test_an_answer_that_loops_while_nobody_watches_the_clock_is_said_to_have_looped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 0.0)  # as if this process, or the computer, slept meanwhile
    loop = "def my_surrogate(*_):\n    while True: pass"
    assert apart_from_here(loop, seconds=1).said == "it took longer than 1 second and was stopped"


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("unshare") is None, reason="no unshare")
def test_an_answer_reaches_no_network_where_a_user_may_have_namespaces() -> None:
    if subprocess.run(["unshare", "--user", "--map-current-user", "--net", "--pid", "--fork", "true"]).returncode:
        pytest.skip("this system gives a user no namespaces")
    call = "import socket; socket.create_connection(('127.0.0.1', 9), timeout=5)"
    done = subprocess.run([*apart(), sys.executable, "-c", call], capture_output=True, text=True)
    assert "Network is unreachable" in done.stderr


def test_a_class_is_a_table_and_a_notebook_that_cannot_be_read_does_not_stop_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / ".ipynb_checkpoints").mkdir()
    handed_in(tmp_path / "ada" / "mine.ipynb", RIGHT, ("# **Exercise 2: think.**", "# Never:\n\nevery ratio is 1."))
    handed_in(tmp_path / ".ipynb_checkpoints" / "old.ipynb", WRONG)
    (tmp_path / "bob.ipynb").write_text("{}")
    assert main(["grade", str(tmp_path), "--out", str(tmp_path / "grades.csv")]) == 0
    shown = capsys.readouterr().out
    assert "ada/mine.ipynb: chapter 3, 1 of 2 points" in shown
    assert "bob.ipynb: not graded: " in shown
    with (tmp_path / "grades.csv").open(newline="") as file:
        header, ada, bob = csv.reader(file)
    assert header == ["notebook", "points", "of", "3.1", "3.4", "note"]
    assert ada == ["ada/mine.ipynb", "1", "2", "1", "0", ""]
    assert (bob[:5], "not a Jupyter notebook" in bob[5]) == (["bob.ipynb", "", "", "", ""], True)


def test_the_report_has_everything_and_what_is_to_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads((CHAPTERS / "02_reuse.ipynb").read_text(encoding="utf-8"))
    place = next(k for k, cell in enumerate(notebook["cells"]) if "Exercise 2" in "".join(cell["source"]))
    notebook["cells"].insert(place + 1, {"cell_type": "markdown", "source": ["It vanishes\n", "or explodes."]})
    path, out = tmp_path / "x.ipynb", tmp_path / "grades.json"
    path.write_text(json.dumps(notebook))
    assert main(["grade", str(path), "--out", str(out)]) == 0
    (found,) = json.loads(out.read_text())["notebooks"]
    assert (found["name"], found["points"], found["of"]) == ("02_reuse", 0, 1)
    first, second, third = found["exercises"]
    assert (first["status"], first["points"]) == ("unanswered", 0)
    assert (second["points"], second["written"]) == (None, "It vanishes\nor explodes.")
    assert third["written"] == ""
    assert "4 words to read" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "takes notebooks or folders"),
        (["nowhere.ipynb"], "there is no file nowhere.ipynb"),
        (["."], "there is no notebook in ."),
        (["torn.ipynb"], "torn.ipynb is not a Jupyter notebook"),
        (["other.ipynb"], "other.ipynb is not a notebook of a chapter with exercises"),
        (["torn.ipynb", "--out", "grades.xlsx"], "--out must end in .json or .csv"),
        (["torn.ipynb", "--out", "no/grades.csv"], "--out: there is no folder no"),
        (["torn.ipynb", "--seconds", "0"], "must be more than 0"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if words != ["."]:
        Path("torn.ipynb").write_text('{"cells": [')
        Path("other.ipynb").write_text('{"cells": []}')
    with pytest.raises(InputError) as error:
        main(["grade", *words])
    assert said in str(error.value)
    assert guarded(main, ["grade", *words]) == 2


def test_nothing_of_a_student_reaches_the_terminal_as_a_command() -> None:
    assert plain("\x1b[2Jred\r\n\tx" + os.linesep) == "?[2Jred x"
