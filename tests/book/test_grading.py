"""Grading: only the answer's own statements run, classes keep their grades, and no code decides its own verdict."""

import csv
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from support.fixtures import Capture, Patch
from support.pages import ROOT
from support.submissions import CHECK, HOSTILE, RIGHT, WRONG, cells, handed_in

from chapters.__main__ import main
from chapters.book.build import CHAPTERS, names
from chapters.book.exercise import Exercise, called
from chapters.book.grading import fence, grade, judging
from chapters.book.grading.answering import answered, decoded, encoded
from chapters.book.grading.asked import Asked, exercises, known
from chapters.book.grading.asked import cells as asked_cells
from chapters.book.grading.grade import plain
from chapters.book.grading.judging import Limits, Verdict, cases_of, exercise, judge, verdict
from chapters.book.grading.submission import read
from chapters.book.handout import handed_out
from chapters.exercises.clip import check_slope
from tricks import InputError
from tricks.cli.shell import guarded

(SURROGATE,) = (each for each in exercises("03_clip") if each.check)
ASK = (SURROGATE.check, SURROGATE.answer, check_slope.cases, check_slope.gradients)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other systems limit no time on the processor and no memory")
BODY = "def my_slope(ratio, advantage, epsilon):\n    "
LATE = " (a statement before it raised ZeroDivisionError: division by zero)"


def here(*code: str, cases: Any = (), asked: Asked = SURROGATE) -> Verdict:
    """The verdict on an exercise, as a rule 1 of chapter 3, with these cells added, run in this process."""
    check, added = exercise(asked), cells(*code, name=asked.chapter)
    given = answered(added, asked.check, asked.answer, cases or check.cases, check.gradients)
    return verdict(check, asked, json.loads(json.dumps(given)), cases)


def apart_from_here(*code: str, seconds: float = 20) -> Verdict:
    """The same, run as `grade` does."""
    return judge(cells(*code), SURROGATE, Limits(seconds, 500_000_000))


@pytest.mark.parametrize("name", names())
def test_every_exercise_has_a_cell_and_an_id_of_its_own_and_every_check_is_asked_for_once(name: str) -> None:
    asked = exercises(name)
    assert [each.number for each in asked] == list(range(1, len(asked) + 1))
    script = (CHAPTERS / f"{name}.py").read_text(encoding="utf-8")
    assert [each.check for each in asked if each.check] == re.findall(r"^(check_\w+)\(", script, re.M)
    assert all(exercise(each).cases for each in asked if each.check)
    found = [cell["id"] for cell in json.loads((CHAPTERS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]]
    numbers = [id.rpartition("-exercise-")[2] for id in found if "-exercise-" in id]
    assert numbers == [str(each.number) for each in asked]
    assert {cell.id for cell in asked_cells(name)} == {*found} - {f"{name}-badges", f"{name}-setup"}


def test_what_our_own_failure_kept_from_being_graded_is_graded_the_next_time(monkeypatch: Patch) -> None:
    for error, kept in ((MemoryError(), ""), (InputError("no notebook"), "digest")):
        monkeypatch.setattr(grade, "read", Mock(side_effect=error))
        assert grade.sheet("mine.ipynb", Path("mine.ipynb"), Limits(1, 1), "digest").digest == kept


def test_a_verdict_is_a_word_and_the_exercises_own_sentence() -> None:
    assert here(RIGHT) == Verdict("right", "in 3 of 3 cases.", ())
    said = "this is zero on both sides of the range. An action that has gone the wrong way must be able to come back."
    assert here(WRONG + CHECK) == Verdict("wrong", said, ())
    assert here() == Verdict("unanswered", "the function is not written yet")
    misspelled = here(RIGHT.replace("torch.where", "torch.were"))
    assert (misspelled.status, "raises AttributeError" in misspelled.said) == ("fails", True)
    late = here("K = 1 / 0", RIGHT.replace("1 +", "K +"))
    assert late.said.endswith(f"NameError: name 'K' is not defined{LATE}")
    whole = "def my_slope(r, a, e):\n    x = clipped_surrogate(r.requires_grad_()[None], a[None], torch.tensor([e]))"
    whole += "\n    return torch.autograd.grad(x.sum(), r)[0]"
    assert here(whole + CHECK) == Verdict("right", "in 3 of 3 cases.", ("clipped_surrogate",))  # what it takes
    assert here("check_slope(check_slope.right)").uses == ("check_slope",)


def test_only_what_the_last_answer_needs_is_run_and_an_answer_without_its_check_is_found() -> None:
    helper = "import torch as t\nlow = lambda x: 1 - x\ndef kept(enough, a):\n    return t.where(enough, 0.0, a)\n1 / 0"
    loop = "while True:\n    pass"
    own = "def mine(r, a, e):\n    return kept(t.where(a > 0, r > 1 + e, r < low(e)), a)\n%timeit mine\n"
    own += "check_slope(mine)"
    assert here(loop, helper, own, "exit()", "half a (cell").status == "right"
    assert here(RIGHT, WRONG + CHECK).status == "wrong"
    assert here(RIGHT.removesuffix(CHECK)).status == "right"  # below the check, which was run again
    assert here("x = 1", "x = x + 1", RIGHT.replace("1 +", "x - 1 +")).status == "right"
    alone = [(number, source) for number, source in cells() if "def my_slope" not in source]
    assert answered(alone, *ASK) == {"missing": True}
    reply = answered([*alone, (99, RIGHT.removesuffix(CHECK))], *ASK)
    assert verdict(check_slope, SURROGATE, reply).status == "right"
    broken = answered([*alone, (99, "x = 1\ndef my_slope(a, b:\n    pass")], *ASK)
    assert broken["fault"].startswith("its cell is not Python: cell 99, line 2: ")


def test_what_a_student_prints_patches_or_leaves_costs_only_its_own_points(monkeypatch: Patch) -> None:
    monkeypatch.setenv("SECRET", "hidden")
    assert apart_from_here(HOSTILE["patches"]).status in ("wrong", "stopped")
    hostile = HOSTILE["patches"].replace("range(3, 30)", "range(0)").replace("json.dump = ", "x = ")
    assert apart_from_here(hostile.replace("answering.encoded = ", "y = ")).status == "wrong"
    assert apart_from_here(BODY + "import os; os._exit(0)").said == "its process ended without an answer (status 0)"
    assert apart_from_here(BODY + "exit(3)").said.endswith("raises SystemExit: 3")


@LINUX
@pytest.mark.parametrize("asleep", [False, True])
def test_an_answer_that_loops_is_stopped_while_nobody_watches_it(asleep: bool, monkeypatch: Patch) -> None:
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
    done = subprocess.run([*judging.apart(), sys.executable, "-c", call], capture_output=True, text=True)
    assert "Network is unreachable" in done.stderr


def test_a_class_is_a_table_and_a_report_without_commands(tmp_path: Path, capsys: Capture) -> None:
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
    assert "ada/mine.ipynb: chapter 3, 1 of 1 point" in shown and "bob.ipynb: not graded: " in shown
    assert "by hand: 4 words to read" in shown
    with (tmp_path / "grades.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["notebook", "points", "of", "2.1", "3.1", "note"]
    assert rows[0] == ["ada/mine.ipynb", "1", "1", "", "1", ""]
    assert (rows[1][:5], "not a Jupyter notebook" in rows[1][5]) == (["bob.ipynb", "", "", "", ""], True)
    found = json.loads((tmp_path / "grades.json").read_text())["notebooks"][2]
    assert (found["name"], found["points"], found["of"]) == ("02_reuse", 0, 1)
    first, second, third = found["exercises"]
    assert (first["status"], first["points"]) == ("unanswered", 0)
    assert (second["points"], second["written"]) == (None, "It vanishes\nor explodes.")
    assert third["written"] == ""
    assert plain("\x1b[2Jred\r\n\tx" + os.linesep) == "?[2Jred x"


@pytest.mark.skipif(not (CHAPTERS / "solutions").exists(), reason="a student's copy has no solutions")
@pytest.mark.parametrize("name", [name for name in names() if exercises(name)])
def test_the_solutions_are_right_in_cases_at_random_too(name: str) -> None:
    solution = (CHAPTERS / "solutions" / f"{name}.py").read_text(encoding="utf-8")
    for asked in filter(lambda asked: asked.check, exercises(name)):
        check, cases = exercise(asked), cases_of(asked, 12)
        reply = answered(cells(solution, name=name), asked.check, asked.answer, cases, check.gradients)
        assert verdict(check, asked, json.loads(json.dumps(reply)), cases).status == "right"


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


@pytest.mark.parametrize("ids", [True, False], ids=["with ids", "without ids"])
@pytest.mark.parametrize("name", known())
def test_an_answer_is_credited_to_its_exercise(name: str, ids: bool, tmp_path: Path, monkeypatch: Patch) -> None:
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
def judged(monkeypatch: Patch) -> Mock:
    """In place of `judge`: every answer is right, and none is run."""
    monkeypatch.setattr(grade, "judge", found := Mock(return_value=Verdict("right", "yes.")))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "class").mkdir()
    for name in ("ada", "bob", "eve"):
        handed_in(tmp_path / "class" / f"{name}.ipynb", RIGHT)
    return tmp_path / "class"


def test_after_an_interruption_it_goes_on(folder: Path, judged: Mock, monkeypatch: Patch, capsys: Capture) -> None:
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
    judged.reset_mock()
    assert main(command) == 0
    assert (judged.call_count, "1 of 3 notebooks" in capsys.readouterr().out) == (2, True)
    handed_in(folder / "eve.ipynb", RIGHT + "\n# better")
    shutil.copy(folder / "ada.ipynb", folder / "new.ipynb")
    (folder / "bob.ipynb").unlink()
    judged.reset_mock()
    assert main([*command[:-2]]) == 0  # the seed is that of before
    shown = capsys.readouterr().out
    assert (judged.call_count, "--seed 4" in shown, "Not in this run, and kept: bob.ipynb." in shown) == (2, True, True)
    assert main([*command[:-1], "5"]) == 0  # with another one, everything is graded anew
    assert judged.call_count == 2 + 3


def test_whatever_is_wrong_is_a_row_and_ends_nothing(folder: Path, judged: Mock, capsys: Capture) -> None:
    good = (folder / "ada.ipynb").read_text(encoding="utf-8")
    cell = {"cell_type": "markdown", "metadata": {}, "source": "**Exercise " + "9" * 5000 + ": x.**"}
    strange = {
        "empty": b"",
        "latin": good.replace("Exercise", "\xc9xercise", 1).encode("latin-1"),
        "utf16": good.encode("utf-16"),
        "deep": b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
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
    (folder / "script.py").write_text("def my_slope(): ...")
    (folder / "UPPER.IPYNB").write_bytes(b"\xef\xbb\xbf" + good.encode())
    if sys.platform == "linux":
        shutil.copy(folder / "ada.ipynb", folder / os.fsdecode(b"\xff.ipynb"))
    assert main(["grade", str(folder), str(folder / "ada.ipynb"), "--out", str(folder / "grades.json")]) == 0
    shown = capsys.readouterr().out
    rows = json.loads((folder / "grades.json").read_text(encoding="utf-8"))["notebooks"]
    found = {Path(each["notebook"]).stem: each for each in rows}
    assert {name for name, each in found.items() if each["error"]} == {*strange, "enormous"} - {"03_clip"}
    assert {found[name]["points"] for name in ("ada", "bob", "eve", "UPPER")} == {1}
    assert "script.py" in shown.split("doesn't end in .ipynb")[1]
    assert [Path(each["notebook"]).stem for each in rows].count("ada") == 1  # named twice


def test_any_message_is_written_and_no_file_of_others_over(folder: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(grade, "judge", lambda *_: Verdict("fails", "raises X: \udcff\x1b[2J"))
    grades = folder / "grades.json"
    for ending in ("json", "csv"):
        assert main(["grade", str(folder), "--out", str(grades.with_suffix(f".{ending}"))]) == 0
    assert json.loads(grades.read_text(encoding="utf-8"))["notebooks"][0]["points"] == 0
    grades.write_text('{"mine": 1}')
    monkeypatch.setattr(grade, "judge", lambda *_: pytest.fail("was run"))
    assert guarded(main, ["grade", str(folder), "--out", str(folder / "grades.csv")]) == 2
    assert grades.read_text() == '{"mine": 1}'


CHECKED = [each for name in names() for each in exercises(name) if each.check]


@pytest.mark.parametrize("alone", [True, False], ids=["Python alone", "with the kernel"])
def test_a_process_reads_and_writes_only_what_it_may(alone: bool, tmp_path: Path) -> None:
    if not alone and fence.enforced() < 6:
        pytest.skip("this kernel's Landlock does not cover all of it")
    own, place = tmp_path / "own", tmp_path / "class"
    own.mkdir()
    place.mkdir()
    (place / "answers.py").write_text("right = 1\n")
    may = judging.readable(["/usr", "/lib", "/lib64", sys.prefix, sys.base_prefix], [])
    begin = f"import runpy\nfence = runpy.run_path({fence.__file__!r})\npython_alone = {alone}\n"
    begin += "fence['enclose'].__globals__['landlock'] = lambda *_: None\n" * alone
    begin += f"import ctypes, importlib.util, json, os, subprocess, sys\nfence['enclose']({may!r}, {str(own)!r})\n"
    command = [sys.executable, "-I", "-c", begin + HOSTILE["escapes"], str(place), str(os.getpid()), str(own)]
    done = subprocess.run(command, cwd=own, capture_output=True, text=True)
    assert done.stdout == '["write here"]\n', done.stderr
    assert [(each.name, each.read_text()) for each in place.iterdir()] == [("answers.py", "right = 1\n")]


@pytest.mark.parametrize("asked", CHECKED, ids=lambda asked: f"{asked.module}.{asked.check}")
def test_the_copy_that_an_answer_imports_has_no_right_function_and_no_check(asked: Asked) -> None:
    module = importlib.import_module(f"chapters.exercises.{asked.module}")
    given = [encoded(value) for case in cases_of(asked, 1) for value in case.values()]
    kept = {each["function"][1] for each in given if "function" in each}
    text = judging.without_answers(Path(str(module.__file__)).read_text(encoding="utf-8"), sorted(kept))
    there: dict[str, object] = {"__name__": "copy"}
    exec(text, there)
    checks = [each for each in vars(module).values() if isinstance(each, Exercise)]
    wrong = [each for check in checks for each in (check.right, *check.mistakes.values())]
    left = {each.__name__ for each in wrong if each.__module__ == module.__name__ and each.__name__.startswith("_")}
    assert not left & there.keys() - kept and "Exercise" not in there and not vars(there[asked.check])
    for name, value in vars(module).items():  # what a notebook imports for other reasons is there
        if not name.startswith(("_", "check_")) and getattr(value, "__module__", "") == module.__name__:
            assert name in there


def test_the_copy_is_what_an_answer_may_import_and_what_is_hidden_is_in_no_folder_it_may_read(tmp_path: Path) -> None:
    judging.copy_packages(tmp_path / "copy", importlib.import_module("chapters.exercises.clip"))
    chapters = tmp_path / "copy" / "chapters"
    assert [each.name for each in (chapters / "exercises").iterdir()].count("clip.py") == 1
    assert not [*chapters.parent.rglob("solutions"), *chapters.parent.rglob("judging.py"), *chapters.glob("0*")]
    place = tmp_path / "place"
    for each in ("site/torch", "site/chapters/exercises", "site/tricks"):
        (place / each).mkdir(parents=True)
    (place / "lib").symlink_to(place / "site")
    (place / "site" / "up").symlink_to(place)
    may = judging.readable([place, place / "lib"], [place / "site" / "chapters", place / "site" / "tricks"])
    assert may == [str(place / "site" / "torch")]


def test_what_knows_the_chapters_cases_is_wrong() -> None:
    def drawn(seed: int) -> list[str]:
        return [json.dumps([encoded(each) for each in case.values()]) for case in cases_of(SURROGATE, seed)]

    assert drawn(5) == drawn(5) != drawn(6) and drawn(5)[:3] == drawn(6)[:3] and len({*drawn(5)}) == 13
    assert here(HOSTILE["by heart"]).status == "right"
    assert here(HOSTILE["by heart"], cases=cases_of(SURROGATE, 5)).status == "wrong"
    assert here(RIGHT, cases=cases_of(SURROGATE, 5)) == Verdict("right", "in 13 of 13 cases.")


def test_what_has_no_gradient_or_a_wrong_one_is_wrong() -> None:
    (floor,) = (each for each in exercises("a3_dual_clip") if each.check)
    right = f"def {floor.answer}(x, a, c):\n    return torch.where(a < 0, torch.maximum(x, c * a), x)"
    assert here(right, asked=floor).status == "right"
    for spoiled in ("x.detach()", "torch.tensor(x.tolist())"):
        said = here(right.replace("maximum(x", f"maximum({spoiled}"), asked=floor).said
        assert "gives the right numbers, but the gradient in clipped is wrong." in said
    said = here(right.replace("    return", "    x = x.detach()\n    return"), asked=floor).said
    assert "no gradient reaches clipped" in said and said.endswith("without item(), detach(), or numpy.")


@pytest.mark.parametrize("asked", CHECKED, ids=lambda asked: f"{asked.module}.{asked.check}")
def test_the_right_function_is_right_and_mistakes_have_their_hints_in_cases_at_random_too(asked: Asked) -> None:
    check = exercise(asked)
    assert check.verdict(lambda *_: None).startswith("Not yet: <lambda> returns nothing") and check.mistakes
    drawn = [cases_of(asked, seed) for seed in (0, 1)]
    assert [len(cases) - len(check.cases) for cases in drawn] == [10 * (asked.check != "check_diagnosis")] * 2
    for cases in (check.cases, *drawn):
        for function, said in ((check.right, "Right"), *((wrong, said) for said, wrong in check.mistakes.items())):
            found = check.judged("f", cases, lambda case, f=function: called(f, case, check.gradients))  # type: ignore[misc]
            assert found.removeprefix("Not yet: ").startswith(said)


def test_a_reply_that_is_no_number_is_an_error_and_not_an_object() -> None:
    assert not callable(decoded({"function": ["os", "system"], "with": {}}))  # it is not looked up
    kinds = ("object", 1), ("f8,O", 1), ("float32", 10**12)
    sent: list[Any] = [{"tensor": [1], "dtype": kind, "shape": [size]} for kind, size in kinds]
    sent += [{"array": [[1], [2, 3]], "dtype": "float64", "shape": [3]}, {"tensor": [1], "tuple": []}, {}]
    for each in sent:
        with pytest.raises((ValueError, TypeError, KeyError)):
            decoded(each)


def test_a_student_reads_no_answer_and_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "bob.ipynb").write_text("{}")
    there = ROOT / "chapters" / "exercises"
    paths = {"ANSWERS": there / "clip.py", "NEIGHBOR": tmp_path / "bob.ipynb", "NEW": there / "new.py", "CLONE": ROOT}
    code = re.sub("|".join(paths), lambda found: repr(str(paths[found[0]])), HOSTILE["reads"])
    found = judge(cells(code), SURROGATE, Limits(30, 2_000_000_000, 1, (tmp_path / "bob.ipynb",)))
    assert (found.status, found.uses) == ("wrong", ("chapters", "tricks")) and "returns tuple" in found.said
    assert not (there / "new.py").exists()
