"""The form of a chapter: what is folded, what the first screen shows, how long it takes, and how wide its code is."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from chapters.book.build import FURTHER, is_folded, marked, minutes, names, reading_time
from chapters.book.setup_cells import stored

CHAPTERS = Path(__file__).parents[2] / "chapters"
NAMES = names()
CHAPTERS_PROPER = [name for name in NAMES if not name.startswith("a")]  # without the appendices
SCAFFOLD = re.compile(r"^\s*assert |\bplt\.show\(|\bevidence\(|\bswept\(|\bbegin\(\)", re.M)
SCREEN = 220  # words that leave room for a picture on a screen of 900 pixels
WIDE = 88  # characters of code that fit beside the loop on a screen of 1440 pixels
AT_MOST = 30  # minutes


def cells_of(name: str) -> list[NotebookNode]:
    """The cells of a stored notebook."""
    cells: list[NotebookNode] = stored(CHAPTERS / f"{name}.ipynb").cells
    return cells


def is_picture(cell: NotebookNode) -> bool:
    """Whether a cell shows a figure."""
    return any("image/png" in output.get("data", {}) for output in cell.get("outputs", []))


@pytest.mark.parametrize("name", NAMES)
def test_code_that_checks_draws_or_picks_evidence_is_folded_unless_it_is_the_lesson(name: str) -> None:
    for cell in cells_of(name):
        if cell.cell_type == "code" and SCAFFOLD.search(cell.source):
            tags = cell.metadata.get("tags", [])
            assert is_folded(cell) != ("open" in tags), f"tag this cell hide-input or open:\n{cell.source}"


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_and_the_librarys_own_code_are_open(name: str) -> None:
    for cell in cells_of(name):
        if re.search(r"^def my_|^(source|listing|diff)\(", cell.source, re.M):
            assert not is_folded(cell), cell.source


@pytest.mark.parametrize("name", NAMES)
def test_jupyter_folds_what_the_web_book_folds(name: str) -> None:
    for cell in cells_of(name):
        hidden = cell.metadata.get("jupyter", {}).get("source_hidden", False)
        assert hidden == is_folded(cell), cell.source


@pytest.mark.parametrize("name", NAMES)
def test_open_code_fits_its_column(name: str) -> None:
    code = [cell.source for cell in cells_of(name) if cell.cell_type == "code" and not is_folded(cell)]
    assert [line for source in code for line in source.split("\n") if len(line) > WIDE] == []


@pytest.mark.parametrize("name", NAMES)
def test_what_follows_a_prediction_at_once_is_covered_too(name: str) -> None:
    cells = cells_of(name)
    for cell, following in pairwise(cells):
        if "predict" in cell.metadata.get("tags", []) and following.get("outputs"):
            assert "predict" in following.metadata.get("tags", []), following.source


@pytest.mark.parametrize("name", CHAPTERS_PROPER)
def test_the_first_screen_shows_what_goes_wrong(name: str) -> None:
    cells = cells_of(name)
    before = cells[: next(k for k, cell in enumerate(cells) if is_picture(cell))]
    prose = "\n".join(cell.source for cell in before if cell.cell_type == "markdown")
    code = [cell for cell in before if cell.cell_type == "code" and not is_folded(cell)]
    assert len(prose.split()) <= SCREEN
    assert "|---" not in prose
    assert sum(cell.source.count("\n") + 1 for cell in code) <= 5


@pytest.mark.parametrize("name", NAMES)
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


def test_folded_code_takes_no_time_to_read_and_what_it_shows_does() -> None:
    listing = new_output("display_data", data={"text/markdown": "```python\n" + "x = 1\n" * 78 + "```"})
    cell = new_code_cell("x = 1\n" * 39 + "x = 1", outputs=[listing])
    assert reading_time([cell]) == 3
    cell.metadata["tags"] = ["hide-input"]
    assert reading_time([cell]) == 2
