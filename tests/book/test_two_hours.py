"""The two hours: six stops of at most twenty minutes, made of the chapters' cells and in step with them."""

import re

import jupytext
import pytest

from chapters.book.build import CHAPTERS, names
from chapters.book.site.staging import whole_ppo
from chapters.book.site.train_here import HERE
from chapters.book.two_hours import END, START, STOPS, TAG, minutes, notebook, stored, table
from tricks.ladder import named


def test_six_stops_take_twenty_minutes_each_at_most_and_the_map_lists_them() -> None:
    assert len(STOPS) == 6
    assert max(minutes()) <= 20
    page = (CHAPTERS / "README.md").read_text(encoding="utf-8")
    assert page.split(START)[1].split(END)[0] == table()


@pytest.mark.parametrize("number", range(1, len(STOPS) + 1))
def test_a_stored_stop_is_made_of_the_chapters_cells_and_a_few_words_and_asks_for_nothing_that_it_lacks(
    number: int,
) -> None:
    stop, made = STOPS[number - 1], notebook(number)
    found, *theirs = (
        [(cell.id, cell.source, cell.metadata, cell.get("outputs")) for cell in cells]
        for cells in (stored(stop.name).cells, made.cells)
    )
    assert [found] == theirs
    of_chapters = {cell.source for chapter in stop.parts for cell in stored(chapter).cells}
    own = [cell for cell in made.cells if cell.source not in of_chapters]
    assert len(own) == 2 + sum(bool(words) for words in stop.parts.values())
    assert all(cell.cell_type == "markdown" for cell in own)
    text = "\n".join(cell.source for cell in made.cells)
    asked = re.findall(r"^\*\*Exercise (\d)", text, re.M)
    assert asked == [f"{k}" for k in range(1, len(asked) + 1)] != []
    assert {*re.findall(r"[Ee]xercise (\d)", text)} <= {*asked}
    assert not [link for link in re.findall(r"\]\(([\w./-]+)[)#]", text) if not (CHAPTERS / link).exists()]
    assert stop.plays in HERE
    assert jupytext.read(CHAPTERS / f"{stop.name}.ipynb").metadata.jupytext == {"formats": "ipynb"}
    assert not (CHAPTERS / f"{stop.name}.py").exists()


def test_every_tagged_cell_is_in_a_stop() -> None:
    tagged = {name for name in names() for c in stored(name).cells if TAG in c.metadata.get("tags", [])}
    assert tagged == {chapter for stop in STOPS for chapter in stop.parts}


def test_what_ends_at_gae_is_not_called_all_of_ppo() -> None:
    assert "segments" in named("ppo").on
    assert "segments" not in named("gae").on
    for text in (STOPS[3].ends, whole_ppo()):
        assert "core of PPO" in text
        assert "[segments](13_segments.ipynb)" in text
