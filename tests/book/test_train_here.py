"""The small playgrounds in the chapters train what the table says, and most starts show what the text says."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from support.browsing import Browser
from support.playground import opened, trained

from chapters.book.build import names
from chapters.book.site.playing import home
from chapters.book.site.train_here import HERE
from tricks import Config
from tricks.ladder import switched

STARTS = 10
PLACE = r'class="train-here[^>]*data-setting="([^"]*)"'


@pytest.fixture
def empty(browser: Browser) -> Browser:
    """A page in which to put small playgrounds."""
    browser.open("playground.html#steps=1000&agents=1&a=")
    browser.wait_for("#playground .play-main")
    return browser


def clicked(browser: Browser, selector: str = "#tried", seconds: float = 60) -> dict[str, Any]:
    """What a small playground tells at its end, after a click on its button."""
    browser.run("document.querySelector(`${arguments[0]} .play-main`).click()", selector)
    return trained(browser, selector, seconds)


@pytest.mark.parametrize("name", names())
def test_a_chapter_has_its_own_small_playground_before_its_exercises_and_others_where_it_goes_further(
    name: str, site: Path
) -> None:
    page = (site / "chapters" / f"{name}.html").read_text(encoding="utf-8")
    places = {unescape(each[1]): each.start() for each in re.finditer(PLACE, page)}
    here = {each: HERE[each].setting for each in HERE if home(each) == name[3:]}
    assert set(places) == {*here.values()}
    assert page.count("playground-page.js") == (1 if here else 0)
    for each, setting in here.items():
        assert (places[setting] < page.index('id="exercises"')) == (each == name[3:])
        if each != name[3:]:
            assert page.index('id="going-further"') < places[setting] < page.index("<strong>Question.</strong>")


@pytest.mark.parametrize("name", HERE)
def test_an_arm_of_the_table_is_a_setting_of_the_library(name: str) -> None:
    here = HERE[name]
    assert {*switched([*here.without, *here.adds]).on} == {*here.without, *here.adds}
    Config(here.world, **{name: x for name, x in here.numbers.items() if name != "agents"})  # type: ignore[arg-type]


def test_every_small_playground_trains_to_its_end_with_new_seeds_and_says_that_a_worker_fails(
    empty: Browser,
) -> None:
    for here in HERE.values():
        short = re.sub(r"steps=\d+", "steps=1000", here.setting).replace("&agents=30", "") + "&agents=2"
        empty.ask("put", short)
        first = clicked(empty)
        assert first["points"] == 100
        assert ("verdict" in first) == bool(here.adds)
        assert empty.complaints() == []
    second = clicked(empty)
    assert second["from"] >= first["from"] + 2  # the agents of the table have other seeds at every click
    assert "&from=100" in empty.run("return document.querySelector('#tried a').href")
    empty.ask("breakWorkers")
    empty.ask("put", HERE["clip"].setting)
    clicked(empty)
    assert empty.text("#tried .play-verdict") == "Training stopped: Uncaught Error: no memory"


def test_a_click_in_a_chapter_trains_there_and_the_large_one_has_the_same_setting(browser: Browser) -> None:
    browser.open("chapters/13_segments.html")
    browser.wait_for(".train-here .play-main")
    found = clicked(browser, ".train-here", 120)
    assert browser.complaints() == []
    assert found["verdict"] == "B"
    large = browser.run("return document.querySelector('.train-here a').href")
    opened(browser, large.removeprefix(f"{browser.folder.as_uri()}/"))
    assert browser.texts(".play-legend span") == ["A: without segments", "B: with segments"]


@pytest.mark.slow
@pytest.mark.parametrize("name", HERE)
def test_most_starts_show_what_the_text_says(empty: Browser, name: str) -> None:
    here = HERE[name]
    empty.ask("put", here.setting)
    found = [clicked(empty, seconds=600) for _ in range(STARTS)]
    held = [
        each["verdict"] == here.verdict if here.adds else max(each["late"]) >= 2 * min(each["late"]) for each in found
    ]
    assert sum(held) >= here.least
