"""A command that reads says so, in one line and with status 2, where there is nothing to read or nothing whole."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ablations.cli import main

FOLDERS: dict[str, tuple[str, bytes | None, str]] = {  # a file in it, its content, and what `report` says
    "empty": ("", None, "no run files (*.runs.csv.gz) in"),
    "jobs alone": ("jobs/0.csv", b"x\n", "no run files (*.runs.csv.gz) in"),
    "an empty page": ("compare_x/comparison.md", b" \n", "no run files (*.runs.csv.gz) in"),
    "a study further down": ("inner/x.runs.csv.gz", b"x\n", "no run files (*.runs.csv.gz) in"),
    "a damaged study": ("x.runs.csv.gz", b"x\n", "x.runs.csv.gz is damaged or not a run file"),
    "a damaged page": ("judge_x/verdict.md", b"\xff\xfe\x00", "verdict.md is damaged or no page of ours"),
}


@pytest.mark.parametrize(("name", "content", "said"), FOLDERS.values(), ids=list(FOLDERS))
def test_a_folder_without_anything_whole_is_refused_and_left_alone(
    name: str, content: bytes | None, said: str, tmp_path: Path, refuses: Callable[..., None]
) -> None:
    if content is not None:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    before = sorted(tmp_path.rglob("*"))
    refuses(main, ["report", "--out", str(tmp_path)], said)
    refuses(main, ["plot", str(tmp_path), "--out", str(tmp_path / "plot")], str(tmp_path))
    refuses(main, ["games", str(tmp_path)], "no saved run in")
    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_no_folder_is_said_to_be_none(tmp_path: Path, refuses: Callable[..., None]) -> None:
    refuses(main, ["report", "--out", str(tmp_path / "missing")], "missing, which is no folder")
    (tmp_path / "file").write_text("x\n")
    refuses(main, ["report", "--out", str(tmp_path / "file")], "file, which is no folder")
    refuses(main, ["plot", str(tmp_path / "missing")], "there is no")
