"""What is handed to students: a copy and a wheel without the answers, from which everything but their tests works."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.pages import ROOT
from support.submissions import RIGHT, handed_in
from support.wheels import built

from chapters.__main__ import main
from chapters.book import handout
from chapters.book.handout import handed_out, without_answers
from tricks.errors import InputError

EXERCISE = """**Question.** Why?

<details><summary>Answer</summary>

Because.

</details>

**Exercise 2: think.** How often?

<details><summary>Hint</summary>

Count.

</details>

<details><summary>Answer</summary>

Never.

</details>

**Exercise 3: spot the bug.** Where?"""
GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@example.com")
CHECKED = ("test_chapters.py", "test_two_hours.py", "test_teaching.py", "test_readme.py")
CHOSEN = "chapters or stop or teaching or links"


def test_answers_go_and_questions_and_hints_stay() -> None:
    wanted = EXERCISE.replace("\n<details><summary>Answer</summary>\n\nNever.\n\n</details>\n", "")
    assert [*without_answers([EXERCISE], "")] == [wanted]
    one = EXERCISE.split("**Exercise 3")[0]
    end = "</details>\n\nSolutions: [`solutions/x.py`](solutions/x.py). Next: [y](y.ipynb)."
    assert "".join(without_answers([one, f"<b>\n\n<details><summary>Answer</summary>\n\nHere.\n\n{end}"], "")).endswith(
        "<b>\n\nNext: [y](y.ipynb)."
    )
    script = "\n".join(f"# {line}".rstrip() for line in EXERCISE.splitlines())
    assert [*without_answers([script], "#")] == ["\n".join(f"# {line}".rstrip() for line in wanted.splitlines())]


def test_only_chapters_and_their_map_change() -> None:
    text = b"The answers to the exercises are in [`solutions`](solutions).\n\nNext"
    assert handed_out("chapters/README.md", text) == b"Next"
    solutions = "Solutions: [`a.py`](solutions/a.py) and [`b.py`](solutions/b.py). "
    assert [*without_answers([f"Done.\n\n{solutions}There is more in [A](a.ipynb)."], "")] == [
        "Done.\n\nThere is more in [A](a.ipynb)."
    ]
    assert handed_out("docs/README.md", text) == handed_out("chapters/thumbnails/x.png", text) == text


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_a_students_copy_has_no_answers_and_its_tests_pass(tmp_path: Path) -> None:
    clone, copy = tmp_path / "clone", tmp_path / "s"
    ignored = (".*", "*.egg-info", "__pycache__", "build", "runs", "site", "slides")
    shutil.copytree(ROOT, clone, ignore=lambda folder, names: _ignored(folder, names, ignored))
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "x"]):
        subprocess.run([*GIT, *words], cwd=clone, check=True)
    made = os.environ | {"PYTHONPATH": str(clone)}
    subprocess.run([sys.executable, "-P", "-m", "chapters", "handout", "s.zip"], cwd=clone, env=made, check=True)
    shutil.unpack_archive(clone / "s.zip", tmp_path)
    assert copy.exists()
    assert not (copy / "tests").exists()
    there = {path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()}
    all_of_it = {path.relative_to(ROOT).as_posix() for path in (ROOT / "chapters").rglob("*.py")}
    assert {name for name in all_of_it if not name.startswith("chapters/solutions/")} <= there
    assert not [name for name in there if name.startswith("chapters/solutions/")]
    for path in [*(copy / "chapters").glob("*.py"), *(copy / "chapters").glob("*.ipynb"), copy / "chapters/README.md"]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\(solutions|colab|mybinder", text), path
        for exercise in re.split(r"\*\*Exercise \d", text.partition("## Exercises")[2])[1:]:
            own = re.split(r"## Going further|\*\*Question", exercise)[0]
            assert "<summary>Answer" not in own, path
    shutil.copytree(clone / "tests", copy / "tests")
    environment = os.environ | {"PYTHONPATH": f"{copy}{os.pathsep}{copy / 'tests'}", "NUMBA_DISABLE_JIT": "1"}
    tests = [str(Path("tests", "book", name)) for name in CHECKED]
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-k", CHOSEN, *tests]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def _ignored(folder: str, names: list[str], patterns: tuple[str, ...]) -> set[str]:
    """What is not part of the repository: at its top, everything that git ignores; below, caches."""
    top = Path(folder) == ROOT
    return set(shutil.ignore_patterns(*(patterns if top else ("__pycache__",)))(folder, names))


def test_bad_input_to_handout_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"must end in \.zip, not student\.tar\.gz"):
        main(["handout", "student.tar.gz"])
    with pytest.raises(InputError, match="there is no folder"):
        main(["handout", str(tmp_path / "no" / "x.zip")])
    monkeypatch.setattr(handout, "CLONE", tmp_path)
    with pytest.raises(InputError, match="packs the last commit of a clone"):
        main(["handout", str(tmp_path / "x.zip")])
    assert not (tmp_path / "x.zip").exists()


def test_a_wheel_has_no_solutions_and_grades_outside_the_clone(tmp_path: Path) -> None:
    (tmp_path / "clone").mkdir()
    (tmp_path / "class").mkdir()
    with zipfile.ZipFile(built(tmp_path / "clone")) as wheel:
        names = wheel.namelist()
        wheel.extractall(tmp_path / "installed")
    assert "chapters/exercises/clip.py" in names
    assert [name for name in names if "solutions" in name] == []
    spy = RIGHT.replace("    return", "    import chapters.exercises.clip as own; own._right\n    return")
    handed_in(tmp_path / "class" / "ada.ipynb", RIGHT)
    handed_in(tmp_path / "class" / "eve.ipynb", spy)
    handed_in(tmp_path / "class" / "stop.ipynb", name="t3_reuse_and_clip")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    command = [sys.executable, "-P", "-m", "chapters", "grade", "."]
    done = subprocess.run(command, cwd=tmp_path / "class", env=environment, capture_output=True, text=True)
    assert "ada.ipynb: chapter 3, 1 of 2 points" in done.stdout, done.stderr
    assert "eve.ipynb: chapter 3, 0 of 2 points" in done.stdout
    assert "has no attribute '_right'" in done.stdout
    assert "stop.ipynb: stop 3 of the two hours, 0 of 1 point" in done.stdout
