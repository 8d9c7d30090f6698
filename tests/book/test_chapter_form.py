"""The form of a chapter: what is folded, what the first screen shows, how long it takes, and how wide its code is."""

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import jupytext
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from chapters.book import build
from chapters.book.build import CHAPTERS, FURTHER, is_folded, marked, minutes, names, reading_time
from chapters.book.setup_cells import stored

CHAPTERS_PROPER = [name for name in names() if not name.startswith("a")]  # without the appendices
SCAFFOLD = re.compile(r"^\s*assert |\bplt\.show\(|\bevidence\(|\bswept\(|\bbegin\(\)", re.M)
SCREEN = 220  # words that leave room for a picture on a screen of 900 pixels
WIDE = 88  # characters of code that fit beside the loop on a screen of 1440 pixels
AT_MOST = 30  # minutes
EXERCISES = "**Exercise 1.** Do it.\n\n**Exercise 2.** Do it again.\n"


@cache
def cells_of(name: str) -> list[NotebookNode]:
    """The cells of a stored notebook."""
    return list(stored(CHAPTERS / f"{name}.ipynb").cells)


@pytest.mark.parametrize("name", names())
def test_code_that_checks_draws_or_picks_evidence_is_folded_unless_it_is_the_lesson(name: str) -> None:
    for cell in cells_of(name):
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "code" and SCAFFOLD.search(cell.source):
            assert is_folded(cell) != ("open" in tags), f"tag this cell hide-input or open:\n{cell.source}"
        if re.search(r"^def my_|^(source|listing|diff)\(", cell.source, re.M):  # an exercise, the library's own code
            assert not is_folded(cell), cell.source
        hidden = cell.metadata.get("jupyter", {}).get("source_hidden", False)
        assert hidden == is_folded(cell), cell.source  # Jupyter folds what the web book folds
        if cell.cell_type == "code" and not is_folded(cell):
            assert max(map(len, cell.source.split("\n"))) <= WIDE, cell.source


@pytest.mark.parametrize("name", names())
def test_what_follows_a_prediction_at_once_is_covered_too(name: str) -> None:
    for cell, following in pairwise(cells_of(name)):
        if "predict" in cell.metadata.get("tags", []) and following.get("outputs"):
            assert "predict" in following.metadata.get("tags", []), following.source


@pytest.mark.parametrize("name", CHAPTERS_PROPER)
def test_the_first_screen_shows_what_goes_wrong(name: str) -> None:
    cells = cells_of(name)
    pictures = [
        k for k, cell in enumerate(cells) for out in cell.get("outputs", []) if "image/png" in out.get("data", {})
    ]
    prose = "\n".join(cell.source for cell in cells[: pictures[0]] if cell.cell_type == "markdown")
    code = [cell for cell in cells[: pictures[0]] if cell.cell_type == "code" and not is_folded(cell)]
    assert len(prose.split()) <= SCREEN
    assert "|---" not in prose
    assert sum(cell.source.count("\n") + 1 for cell in code) <= 5


@pytest.mark.parametrize("name", names())
def test_a_chapter_takes_at_most_half_an_hour_and_the_rest_is_below_a_line(name: str) -> None:
    first, further = minutes(name)
    assert first <= AT_MOST
    headings = [cell.source.split("\n")[0] for cell in cells_of(name) if cell.source.startswith(FURTHER)]
    assert headings == [FURTHER] * (further > 0)


def test_jupyter_forgets_a_fold_that_a_cell_has_no_longer() -> None:
    folded = new_code_cell("plt.show()", metadata={"tags": ["hide-input"]})
    once = new_code_cell("x = 1", metadata={"jupyter": {"source_hidden": True}})
    cells = marked("made_up", new_notebook(cells=[folded, once, new_markdown_cell("# T")])).cells
    assert [cell.metadata.get("jupyter") for cell in cells] == [{"source_hidden": True}, None, None]
    assert [cell.id for cell in cells] == ["made_up-0", "made_up-1", "made_up-2"]


def showing(text: str, code: str = "") -> NotebookNode:
    return new_code_cell(code, outputs=[new_output("display_data", data={"text/markdown": text})])


def test_reading_time_counts_words_code_and_exercises_and_what_goes_further_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, code = new_markdown_cell("word " * 2000), new_code_cell("x = 1\n" * 79 + "x = 1")
    further = [new_markdown_cell(text) for text in ("word " * 400, f"{FURTHER}\n\n" + "word " * 600)]
    monkeypatch.setattr(build, "CHAPTERS", tmp_path)
    for cells, wanted in (
        ([words], (10, 0)),
        ([words, code], (12, 0)),
        ([words, code, new_markdown_cell(EXERCISES)], (22, 0)),
        (further, (2, 3)),
        ([showing("```python\n" + "x = 1\n" * 400 + "```")], (10, 0)),
        ([showing("| a |\n" * 400)], (0, 0)),
    ):
        jupytext.write(new_notebook(cells=cells), tmp_path / "00_made_up.ipynb")
        assert minutes("00_made_up") == wanted
    cell = showing("```python\n" + "x = 1\n" * 78 + "```", "x = 1\n" * 39 + "x = 1")
    assert reading_time([cell]) == 3
    cell.metadata["tags"] = ["hide-input"]  # folded code takes no time, and what it shows does
    assert reading_time([cell]) == 2


def test_every_chapter_is_in_one_part_and_the_order_stays_and_numbers_are_as_readers_see_them() -> None:
    found = build.parts()
    assert [*found] == [*build.PARTS.values()]
    assert [name for chapters in found.values() for name in chapters] == names()
    assert all(chapters[0] == first for first, chapters in zip(build.PARTS, found.values(), strict=True))
    numbers = {"00_reinforce": "0", "04_gae": "4", "12_popart": "12", "a1_qr_signs": "A1"}
    assert {name: build.number(name) for name in numbers} == numbers


def test_that_something_was_compiled_is_not_kept_and_what_a_cell_says_is() -> None:
    before, after = "compiling for this CPU, once\n", "compiled_rows: compiled for this CPU, once, in 2 s\n"
    assert all(build.COMPILING.fullmatch(said) for said in (before, after, before + after))
    assert not build.COMPILING.fullmatch(f"{after}UserWarning\n")
    assert not build.COMPILING.fullmatch("")
