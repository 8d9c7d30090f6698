"""What is handed to students: a copy and a wheel without the solutions, from which everything but their tests works."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.pages import PAGES, blocks_of
from support.submissions import RIGHT, handed_in
from support.wheels import built

from chapters.book.site import staging

(PACK,) = (block for block in blocks_of("sh", PAGES["CONTRIBUTING.md"]) if "git archive" in block)


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_the_command_on_the_page_packs_everything_but_the_solutions(tmp_path: Path) -> None:
    for name in ("README.md", "chapters/03_clip.py", "chapters/solutions/03_clip.py", "chapters/solutions/exam.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    for words in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "--message", "x"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    subprocess.run(shlex.split(PACK), cwd=tmp_path, check=True)
    (tmp_path / "unpacked").mkdir()
    shutil.unpack_archive(tmp_path / "student.tar.gz", tmp_path / "unpacked", filter="data")
    found = {path.relative_to(tmp_path / "unpacked").as_posix() for path in (tmp_path / "unpacked").rglob("*.*")}
    assert found == {"README.md", "chapters/03_clip.py"}


def test_a_wheel_has_no_solutions_and_grades_outside_the_clone(tmp_path: Path) -> None:
    (tmp_path / "clone").mkdir()
    (tmp_path / "class").mkdir()
    with zipfile.ZipFile(built(tmp_path / "clone")) as wheel:
        names = wheel.namelist()
        wheel.extractall(tmp_path / "installed")
    assert "chapters/exercises/clip.py" in names
    assert [name for name in names if "solutions" in name] == []
    handed_in(tmp_path / "class" / "ada.ipynb", RIGHT)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    command = [sys.executable, "-P", "-m", "chapters", "grade", "ada.ipynb"]
    done = subprocess.run(command, cwd=tmp_path / "class", env=environment, capture_output=True, text=True)
    assert "ada.ipynb: chapter 3, 1 of 2 points" in done.stdout, done.stderr


def test_the_web_book_of_a_copy_without_solutions_names_them_without_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, page = "Solutions: [`solutions/03_clip.py`](solutions/03_clip.py).", tmp_path / "chapters" / "03_clip.ipynb"
    for name, folder in (("ROOT", tmp_path), ("CHAPTERS", page.parent), ("SOLUTIONS", page.parent / "solutions")):
        monkeypatch.setattr(staging, name, folder)
    assert staging._relinked(text, page, set()) == "Solutions: `solutions/03_clip.py`."
    (page.parent / "solutions").mkdir(parents=True)
    with pytest.raises(ValueError, match=re.escape("chapters/03_clip.ipynb links to solutions/03_clip.py")):
        staging._relinked(text, page, set())
