"""What a student's code can't do: know the answers or the cases, or reach what belongs to the teacher."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.pages import ROOT
from support.submissions import CHECK, HOSTILE, RIGHT, cells

from chapters.book.build import names
from chapters.book.exercise import Exercise, called
from chapters.book.grading import fence
from chapters.book.grading.answering import answered
from chapters.book.grading.asked import Asked, exercises
from chapters.book.grading.copying import copy_packages, readable, without_answers
from chapters.book.grading.judging import Limits, Verdict, cases_of, exercise, judge, verdict
from chapters.book.grading.wire import decoded, encoded

CHECKED = [each for name in names() for each in exercises(name) if each.check]
SURROGATE = next(each for each in CHECKED if each.check == "check_surrogate")


def reply(asked: Asked, code: str, cases: object = ()) -> Verdict:
    """The verdict on an answer that is run in this process."""
    check = exercise(asked)
    given = answered(cells(code), asked.check, asked.answer, cases or check.cases, check.gradients)  # type: ignore[arg-type]
    return verdict(check, asked, json.loads(json.dumps(given)), cases)  # type: ignore[arg-type]


@pytest.mark.parametrize("alone", [True, False], ids=["Python alone", "with the kernel"])
def test_a_process_reads_and_writes_only_what_it_may(alone: bool, tmp_path: Path) -> None:
    if not alone and fence.enforced() < 6:
        pytest.skip("this kernel's Landlock does not cover all of it")
    own, place = tmp_path / "own", tmp_path / "class"
    own.mkdir()
    place.mkdir()
    (place / "answers.py").write_text("right = 1\n")
    may = readable(["/usr", "/lib", "/lib64", sys.prefix, sys.base_prefix], [])
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
    text = without_answers(Path(str(module.__file__)).read_text(encoding="utf-8"), sorted(kept))
    there: dict[str, object] = {"__name__": "copy"}
    exec(text, there)
    checks = [each for each in vars(module).values() if isinstance(each, Exercise)]
    wrong = [each for check in checks for each in (check.right, *check.mistakes.values())]
    left = {each.__name__ for each in wrong if each.__module__ == module.__name__ and each.__name__.startswith("_")}
    assert not left & there.keys() - kept
    assert "Exercise" not in there
    assert not vars(there[asked.check])
    for name, value in vars(module).items():  # what a notebook imports for other reasons is there
        if not name.startswith(("_", "check_")) and getattr(value, "__module__", "") == module.__name__:
            assert name in there


def test_the_copy_is_only_what_an_answer_may_import_and_what_is_hidden_is_in_no_folder_that_may_be_read(
    tmp_path: Path,
) -> None:
    copy_packages(tmp_path / "copy", importlib.import_module("chapters.exercises.clip"))
    chapters = tmp_path / "copy" / "chapters"
    assert [each.name for each in (chapters / "exercises").iterdir()].count("clip.py") == 1
    assert not [*chapters.parent.rglob("solutions"), *chapters.parent.rglob("judging.py"), *chapters.glob("0*")]
    place = tmp_path / "place"
    for each in ("site/torch", "site/chapters/exercises", "site/tricks"):
        (place / each).mkdir(parents=True)
    (place / "lib").symlink_to(place / "site")
    (place / "site" / "up").symlink_to(place)
    may = readable([place, place / "lib"], [place / "site" / "chapters", place / "site" / "tricks"])
    assert may == [str(place / "site" / "torch")]


def test_an_answer_that_knows_the_chapters_cases_by_heart_is_wrong_in_those_that_a_seed_draws() -> None:
    def drawn(seed: int) -> list[str]:
        return [json.dumps([encoded(each) for each in case.values()]) for case in cases_of(SURROGATE, seed)]

    assert drawn(5) == drawn(5) != drawn(6)
    assert drawn(5)[:3] == drawn(6)[:3]
    assert len({*drawn(5)}) == 13
    assert reply(SURROGATE, HOSTILE["by heart"].replace("+ 0 * ratio", "")).said.endswith(
        "without item(), detach(), or numpy."
    )
    assert reply(SURROGATE, HOSTILE["by heart"].replace("+ 0 *", "+ 1e-9 *"), cases_of(SURROGATE, 5)).status == "wrong"
    assert reply(SURROGATE, RIGHT, cases_of(SURROGATE, 5)) == Verdict("right", "in 13 of 13 cases.")


def test_right_numbers_without_their_gradient_are_wrong() -> None:
    for spoiled in ("ratio.detach()", "torch.tensor(ratio.tolist())"):
        said = reply(SURROGATE, RIGHT.replace("torch.minimum(ratio", f"torch.minimum({spoiled}")).said
        assert "gives the right numbers, but the gradient in ratio is wrong." in said
    both = "def my_surrogate(r, a, e):\n    r = r.detach()\n    return torch.minimum(r * a, r.clamp(1 - e, 1 + e) * a)"
    assert "no gradient reaches ratio" in reply(SURROGATE, both + CHECK).said


@pytest.mark.parametrize("asked", CHECKED, ids=lambda asked: f"{asked.module}.{asked.check}")
def test_in_cases_at_random_the_right_function_is_right_and_mistakes_keep_their_hints(asked: Asked) -> None:
    check = exercise(asked)
    for cases in (cases_of(asked, 0), cases_of(asked, 1)):
        assert len(cases) == len(check.cases) + 10 * (asked.check != "check_diagnosis")  # which has three patients
        for function, said in ((check.right, "Right"), *((wrong, said) for said, wrong in check.mistakes.items())):
            found = check.judged("f", cases, lambda case, f=function: called(f, case, check.gradients))  # type: ignore[misc]
            assert found.removeprefix("Not yet: ").startswith(said)


def test_a_reply_that_is_no_number_is_an_error_and_not_an_object() -> None:
    assert not callable(decoded({"function": ["os", "system"], "with": {}}))  # it is not looked up
    for sent in (
        {"tensor": [1], "dtype": "object", "shape": [1]},
        {"tensor": [1], "dtype": "f8,O", "shape": [1]},
        {"tensor": [1], "dtype": "float32", "shape": [10**12]},
        {"array": [[1], [2, 3]], "dtype": "float64", "shape": [3]},
        {"tensor": [1], "tuple": []},
        {},
    ):
        with pytest.raises((ValueError, TypeError, KeyError)):
            decoded(sent)


def test_a_student_reads_no_answer_and_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "bob.ipynb").write_text("{}")
    there = ROOT / "chapters" / "exercises"
    paths = {"ANSWERS": there / "clip.py", "NEIGHBOR": tmp_path / "bob.ipynb", "NEW": there / "new.py", "CLONE": ROOT}
    code = re.sub("|".join(paths), lambda found: repr(str(paths[found[0]])), HOSTILE["reads"])
    found = judge(cells(code), SURROGATE, Limits(30, 2_000_000_000, 1, (tmp_path / "bob.ipynb",)))
    assert (found.status, found.uses) == ("wrong", ("chapters", "tricks"))
    assert "returns tuple" in found.said
    assert not (there / "new.py").exists()
