"""The two hours: six stops of at most twenty minutes, made of the chapters' cells and in step with them."""

import re
from pathlib import Path

import jupytext
import pytest

from chapters.book.build import names
from chapters.book.site.staging import whole_ppo
from chapters.book.site.train_here import HERE
from chapters.book.two_hours import END, START, STOPS, TAG, minutes, notebook, stored, table
from tricks.ladder import named

CHAPTERS = Path(__file__).parents[2] / "chapters"
NUMBERS = range(1, len(STOPS) + 1)


def test_six_stops_take_twenty_minutes_each_at_most() -> None:
    assert len(STOPS) == 6
    assert max(minutes()) <= 20


@pytest.mark.parametrize("number", NUMBERS)
def test_a_stored_stop_is_what_the_chapters_make_of_it(number: int) -> None:
    found = stored(STOPS[number - 1].name)
    made = notebook(number)
    assert [(c.id, c.source, c.metadata) for c in found.cells] == [(c.id, c.source, c.metadata) for c in made.cells]
    assert [c.get("outputs") for c in found.cells] == [c.get("outputs") for c in made.cells]


def test_what_ends_at_gae_is_not_called_all_of_ppo() -> None:
    assert "segments" in named("ppo").on
    assert "segments" not in named("gae").on
    for text in (STOPS[3].ends, whole_ppo()):
        assert "core of PPO" in text
        assert "[segments](13_segments.ipynb)" in text


@pytest.mark.parametrize("number", NUMBERS)
def test_every_cell_of_a_stop_but_its_own_words_is_a_chapters(number: int) -> None:
    stop = STOPS[number - 1]
    theirs = {cell.source for chapter in stop.parts for cell in stored(chapter).cells}
    own = [cell for cell in notebook(number).cells if cell.source not in theirs]
    assert len(own) == 2 + sum(bool(words) for words in stop.parts.values())
    assert all(cell.cell_type == "markdown" for cell in own)


def test_every_tagged_cell_is_in_a_stop() -> None:
    tagged = {name for name in names() for c in stored(name).cells if TAG in c.metadata.get("tags", [])}
    assert tagged == {chapter for stop in STOPS for chapter in stop.parts}


@pytest.mark.parametrize("number", NUMBERS)
def test_a_stop_has_an_exercise_and_asks_for_none_that_it_lacks(number: int) -> None:
    text = "\n".join(cell.source for cell in notebook(number).cells)
    own = re.findall(r"^\*\*Exercise (\d)", text, re.M)
    assert own == [f"{k}" for k in range(1, len(own) + 1)] != []
    assert {*re.findall(r"[Ee]xercise (\d)", text)} <= {*own}


@pytest.mark.parametrize("number", NUMBERS)
def test_what_a_stop_links_to_is_there(number: int) -> None:
    links = re.findall(r"\]\(([\w./-]+)[)#]", "\n".join(cell.source for cell in notebook(number).cells))
    assert not [link for link in links if not (CHAPTERS / link).exists()]


def test_every_stop_has_a_playground_that_there_is() -> None:
    assert {stop.plays for stop in STOPS} <= {*HERE}


def test_no_script_is_paired_with_a_stop() -> None:
    for stop in STOPS:
        assert jupytext.read(CHAPTERS / f"{stop.name}.ipynb").metadata.jupytext == {"formats": "ipynb"}
        assert not (CHAPTERS / f"{stop.name}.py").exists()


def test_the_map_lists_the_stops() -> None:
    page = (CHAPTERS / "README.md").read_text(encoding="utf-8")
    assert page.split(START)[1].split(END)[0] == table()
