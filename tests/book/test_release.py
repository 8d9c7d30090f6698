"""What leaves the clone: a students' copy and a wheel, both without answers; and what `python -m chapters` refuses."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pytest
from support.fixtures import Patch, Refuses
from support.pages import ROOT
from support.submissions import RIGHT, handed_in
from support.wheels import built, environment

from chapters.__main__ import main
from chapters.book import handout
from chapters.book.handout import handed_out, without_answers
from chapters.book.setup_cells import without_setup
from tricks.cli.shell import guarded

ANSWER, HINT = (f"<details><summary>{kind}</summary>\n\n{{}}\n\n</details>\n\n" for kind in ("Answer", "Hint"))
NEVER = ANSWER.format("Never.")
EXERCISE = f"**Question.** Why?\n\n{ANSWER.format('Because.')}**Exercise 2: think.** How often?\n\n"
EXERCISE += f"{HINT.format('Count.')}{NEVER}**Exercise 3: spot the bug.** Where?"
RUN = """
import sys, nbformat, nbclient
notebook = nbformat.read("chapter.ipynb", as_version=4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, "chapter.ipynb")
"""
WHERE = """
import json, sys
json.dump({name: module.__file__ for name, module in sys.modules.items() if getattr(module, "__file__", None)},
          open("modules.json", "w"))
"""
NEWER = "Metadata-Version: 2.1\nName: torch\nVersion: 99.0\n"  # than pyproject.toml allows
PLAIN = {"NUMBA_DISABLE_JIT": "1"}  # a copy would compile everything anew
GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@example.com")
CHECKED = ("test_chapters.py", "test_two_hours.py", "test_readme.py")
IGNORED = (".*", "*.egg-info", "__pycache__", "build", "runs", "site", "slides")  # at the top, as by git
CHOSEN = "(chapters or stop or syllabus or links) and not mistake and not grading and not version"  # no answers


def test_answers_go_and_questions_and_hints_stay_and_only_chapters_and_their_map_change() -> None:
    wanted = EXERCISE.replace(NEVER, "")
    assert [*without_answers([EXERCISE], "")] == [wanted]
    script, rest = ("\n".join(f"# {line}".rstrip() for line in text.splitlines()) for text in (EXERCISE, wanted))
    assert [*without_answers([script], "#")] == [rest]
    end = "</details>\n\nSolutions: [`solutions/x.py`](solutions/x.py). Next: [y](y.ipynb)."
    texts = [EXERCISE.split("**Exercise 3")[0], f"<b>\n\n<details><summary>Answer</summary>\n\nHere.\n\n{end}"]
    assert "".join(without_answers(texts, "")).endswith("<b>\n\nNext: [y](y.ipynb).")
    solutions = "Solutions: [`a.py`](solutions/a.py) and [`b.py`](solutions/b.py). "
    more = "There is more in [A](a.ipynb)."
    assert [*without_answers([f"Done.\n\n{solutions}{more}"], "")] == [f"Done.\n\n{more}"]
    text = b"The answers to the exercises are in [`solutions`](solutions).\n\nNext"
    assert handed_out("chapters/README.md", text) == b"Next"
    assert handed_out("docs/README.md", text) == handed_out("chapters/thumbnails/x.png", text) == text


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_a_students_copy_has_no_answers_and_its_tests_pass(tmp_path: Path) -> None:
    clone, copy = tmp_path / "clone", tmp_path / "s"
    caches, own = shutil.ignore_patterns("__pycache__"), shutil.ignore_patterns(*IGNORED)
    shutil.copytree(ROOT, clone, ignore=lambda place, names: (own if Path(place) == ROOT else caches)(place, names))
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "x"]):
        subprocess.run([*GIT, *words], cwd=clone, check=True)
    made = os.environ | {"PYTHONPATH": str(clone)}
    subprocess.run([sys.executable, "-P", "-m", "chapters", "handout", "s.zip"], cwd=clone, env=made, check=True)
    shutil.unpack_archive(clone / "s.zip", tmp_path)
    assert copy.exists() and not (copy / "tests").exists()
    there, whole = ({path.relative_to(x).as_posix() for path in (x / "chapters").rglob("*.py")} for x in (copy, ROOT))
    assert there == {name for name in whole if not name.startswith("chapters/solutions/")}
    assert not (copy / "chapters" / "solutions").exists()
    for path in [*(copy / "chapters").glob("*.py"), *(copy / "chapters").glob("*.ipynb"), copy / "chapters/README.md"]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\(solutions|colab|mybinder", text), path
        for exercise in re.split(r"\*\*Exercise \d", text.partition("## Exercises")[2])[1:]:
            assert "<summary>Answer" not in re.split(r"## Going further|\*\*Question", exercise)[0], path
    shutil.copytree(clone / "tests", copy / "tests")
    environ = os.environ | PLAIN | {"PYTHONPATH": f"{copy}{os.pathsep}{copy / 'tests'}"}
    tests = [str(Path("tests", "book", name)) for name in CHECKED]
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-k", CHOSEN, *tests]
    done = subprocess.run(command, cwd=copy, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_wheel_grades_and_gives_without_solutions(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (tmp_path / "class").mkdir()
    with zipfile.ZipFile(built(tmp_path_factory)) as wheel:
        names = wheel.namelist()
        wheel.extractall(tmp_path / "installed")
    assert "chapters/exercises/clip.py" in names and [name for name in names if "solutions" in name] == []
    spy = RIGHT.replace("    return", "    import chapters.exercises.clip as own; own._right\n    return")
    handed_in(tmp_path / "class" / "ada.ipynb", RIGHT)
    handed_in(tmp_path / "class" / "eve.ipynb", spy)
    handed_in(tmp_path / "class" / "stop.ipynb", name="t3_reuse_and_clip")
    environ = os.environ | PLAIN | {"PYTHONPATH": str(tmp_path / "installed")}
    command = [sys.executable, "-P", "-m", "chapters", "grade", "."]
    done = subprocess.run(command, cwd=tmp_path / "class", env=environ, capture_output=True, text=True)
    assert "ada.ipynb: chapter 3, 1 of 1 point" in done.stdout, done.stderr
    assert "eve.ipynb: chapter 3, 0 of 1 point" in done.stdout and "has no attribute '_right'" in done.stdout
    assert "stop.ipynb: stop 3 of the two hours, 0 of 1 point" in done.stdout
    command = [*command[:-2], "get", "03_clip"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert done.stdout.startswith("wrote 03_clip.ipynb"), done.stderr
    notebook = nbformat.read(tmp_path / "03_clip.ipynb", as_version=4)
    nbformat.validate(notebook)
    stored = without_setup(nbformat.read(ROOT / "chapters" / "03_clip.ipynb", as_version=4))
    assert [cell.source for cell in notebook.cells] == [cell.source for cell in stored.cells]
    assert not any(cell.get("outputs") for cell in notebook.cells) and notebook.metadata.kernelspec.name == "python3"


def test_nothing_is_released_while_a_placeholder_stands_for_the_repository(tmp_path: Path) -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    (command,) = re.findall(r"No placeholder is left\n +run: '(.+)'", workflow)
    for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md", "README.md", "chapters/03_clip.ipynb"):
        copy = tmp_path / name
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, copy)
        assert subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True).returncode == 1, name
        copy.write_text(copy.read_text(encoding="utf-8").replace("OWNER", "somebody"), encoding="utf-8")
        assert subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True).returncode == 0, name


def installed(python: Path) -> set[str]:
    (folder,) = python.parents[1].rglob("site-packages")
    return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """An environment without the package, and where pip finds the wheel."""
    pytest.importorskip("nbclient", reason="no nbclient: pip install -e '.[dev]'")
    folder = tmp_path_factory.mktemp("place")
    python = environment(folder, without=("torch-",))
    torch = folder / "packages" / "torch-99.0.dist-info"
    torch.mkdir()
    (torch / "METADATA").write_text(NEWER)
    assert installed(python) == {"linked.pth"}
    yield python, built(tmp_path_factory).parent
    names = {"tricks", "ablations", "chapters", "linked.pth"}
    assert {name for name in installed(python) if not name.startswith("ppo_tricks-")} == names  # and no other PyTorch


@pytest.mark.parametrize("name", ["02_reuse", "25_the_whole_ladder", "a1_qr_signs"])
def test_a_chapter_runs_with_its_notebook_and_the_wheel_alone(name: str, place: Any, tmp_path: Path) -> None:
    python, wheels = place
    notebook = nbformat.read(ROOT / "chapters" / f"{name}.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(WHERE))
    nbformat.write(notebook, tmp_path / "chapter.ipynb")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "IPYTHONDIR": str(tmp_path / "ipython")}
    done = subprocess.run([python, "-c", RUN], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    modules = json.loads((tmp_path / "modules.json").read_text())
    assert {"tricks", "ablations", "chapters.book", "torch"} <= set(modules)
    assert [file for file in modules.values() if Path(file).is_relative_to(ROOT)] == []
    assert {path.name for path in tmp_path.iterdir()} == {"chapter.ipynb", "modules.json", "ipython"}


command = partial(guarded, main)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sight", "unknown command 'sight' (did you mean site?)"),
        ("build 04_gea", "unknown chapter '04_gea' (did you mean 04_gae?)"),
        ("slides 03_clp --out .", "unknown chapter '03_clp' (did you mean 03_clip?)"),
        ("handout student.tar.gz", "must end in .zip, not student.tar.gz"),
        ("handout no/x.zip", "there is no folder no"),
        ("handout x.zip", "packs the last commit of a clone"),
        ("get", "get takes chapters, such as 03_clip"),
        ("get 03_clip 04_gea", "unknown chapter '04_gea' (did you mean 04_gae?)"),
        ("get 04_gae 03_clip", "03_clip.ipynb is there already"),
        ("grade", "takes notebooks or folders"),
        ("grade nowhere.ipynb", "there is no file nowhere.ipynb"),
        ("grade empty", "there is no notebook in empty"),
        ("grade torn.ipynb", "torn.ipynb is not a Jupyter notebook"),
        ("grade other.ipynb", "other.ipynb is not a notebook of a chapter with exercises"),
        ("grade torn.ipynb --out grades.xlsx", "--out must end in .json or .csv"),
        ("grade torn.ipynb --seconds 0", "must be more than 0"),
    ],
)
def test_bad_input_is_one_line(words: str, said: str, refuses: Refuses, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(handout, "CLONE", tmp_path)
    Path("empty").mkdir()
    Path("torn.ipynb").write_text('{"cells": [')
    for name in ("other.ipynb", "03_clip.ipynb"):
        Path(name).write_text('{"cells": []}')
    refuses(command, words.split(), said)
    assert {path.name for path in tmp_path.iterdir()} == {"empty", "torn.ipynb", "other.ipynb", "03_clip.ipynb"}


@pytest.mark.parametrize(("words", "needed"), [("build", "chapters"), ("site", "site")])
def test_missing_packages_have_extras(words: str, needed: str, refuses: Refuses, monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "jupytext", None)
    refuses(command, [words], "cannot import jupytext")
    refuses(command, [words], f'pip install "ppo-tricks[{needed}]"')
