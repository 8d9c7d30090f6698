"""How a chapter's reading time is counted, and in which part of the book it stands."""

from pathlib import Path

import jupytext
import nbformat
import pytest

from chapters.book import build

EXERCISES = "**Exercise 1.** Do it.\n\n**Exercise 2.** Do it again.\n"


def minutes_of(cells: list[nbformat.NotebookNode], folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The reading time of a chapter with these cells, before it goes further."""
    monkeypatch.setattr(build, "CHAPTERS", folder)
    jupytext.write(nbformat.v4.new_notebook(cells=cells), folder / "00_made_up.ipynb")
    return build.minutes("00_made_up")[0]


def test_reading_time_counts_words_code_and_every_exercise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = nbformat.v4.new_markdown_cell("word " * 2000)  # 10 minutes
    code = nbformat.v4.new_code_cell("x = 1\n" * 79 + "x = 1")  # 2 minutes
    exercises = nbformat.v4.new_markdown_cell(EXERCISES)  # 10 minutes, and a few words
    assert minutes_of([words], tmp_path, monkeypatch) == 10
    assert minutes_of([words, code], tmp_path, monkeypatch) == 12
    assert minutes_of([words, code, exercises], tmp_path, monkeypatch) == 22


def test_what_goes_further_is_counted_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = ["word " * 400, f"{build.FURTHER}\n\n" + "word " * 600]
    assert minutes_of([nbformat.v4.new_markdown_cell(cell) for cell in cells], tmp_path, monkeypatch) == 2
    assert build.minutes("00_made_up") == (2, 3)


def test_code_that_a_cell_shows_is_read_and_a_table_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def showing(text: str) -> nbformat.NotebookNode:
        output = nbformat.v4.new_output("display_data", data={"text/markdown": text})
        return nbformat.v4.new_code_cell("", outputs=[output])

    assert minutes_of([showing("```python\n" + "x = 1\n" * 400 + "```")], tmp_path, monkeypatch) == 10
    assert minutes_of([showing("| a |\n" * 400)], tmp_path, monkeypatch) == 0


def test_every_chapter_is_in_one_part_and_the_order_stays() -> None:
    found = build.parts()
    assert [*found] == [*build.PARTS.values()]
    assert [name for chapters in found.values() for name in chapters] == build.names()
    assert all(chapters[0] == first for first, chapters in zip(build.PARTS, found.values(), strict=True))


def test_numbers_as_readers_see_them() -> None:
    assert [build.number(name) for name in ("00_reinforce", "04_gae", "12_popart", "a1_qr_signs")] == [
        *("0", "4", "12", "A1")
    ]


def test_that_something_was_compiled_is_not_kept_and_what_a_cell_says_is() -> None:
    before, after = "compiling for this CPU, once\n", "compiled_rows: compiled for this CPU, once, in 2 s\n"
    assert all(build.COMPILING.fullmatch(said) for said in (before, after, before + after))
    assert not build.COMPILING.fullmatch(f"{after}UserWarning\n")
    assert not build.COMPILING.fullmatch("")
