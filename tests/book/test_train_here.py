"""The small playgrounds in the chapters train what the table says, and most starts show what the text says."""

import json
import re
import time
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from support.browsing import Browser
from support.playground import BROKEN

from chapters.book.build import names
from chapters.book.site.playing import home
from chapters.book.site.train_here import HERE, TrainHere
from tricks import Config
from tricks.ladder import switched

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
STARTS = 10
PLACE = r'class="train-here[^>]*data-setting="([^"]*)"'
PUT = """
const made = document.createElement('div');
Object.assign(made, { className: 'train-here', id: 'tried' });
Object.assign(made.dataset, { setting: arguments[0], large: 'playground.html' });
document.getElementById('tried')?.remove();
document.querySelector('article').prepend(made);
new Book.playground.Small(made);
"""
TOLD = "return document.querySelector(arguments[0]).dataset.told"


def trained(browser: Browser, selector: str, seconds: float = 60) -> dict[str, Any]:
    """What a small playground tells at its end, after a click on its button."""
    browser.run("document.querySelector(`${arguments[0]} .play-main`).click()", selector)
    end = time.monotonic() + seconds
    while True:
        found = json.loads(browser.run(TOLD, selector) or "{}")
        if found.get("done"):
            return dict(found)
        assert time.monotonic() < end, found
        time.sleep(0.1)


def shown(site: Path, name: str) -> tuple[str, dict[str, int]]:
    """A chapter's page, and where on it each small playground is, by its setting."""
    page = (site / "chapters" / f"{name}.html").read_text(encoding="utf-8")
    return page, {unescape(each[1]): each.start() for each in re.finditer(PLACE, page)}


@pytest.mark.parametrize("name", names())
def test_a_chapter_has_its_own_small_playground_before_its_exercises_and_others_where_it_goes_further(
    name: str, site: Path
) -> None:
    page, places = shown(site, name)
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


def test_every_small_playground_trains_to_its_end_and_every_click_has_seeds_of_its_own(browser: Browser) -> None:
    browser.open("playground.html#steps=1000&agents=1&a=")
    browser.wait_for("#playground .play-main")
    for here in HERE.values():
        short = re.sub(r"steps=\d+", "steps=1000", here.setting).replace("&agents=30", "") + "&agents=2"
        browser.run(PUT, short)
        first = trained(browser, "#tried")
        assert first["points"] == 100
        assert ("verdict" in first) == bool(here.adds)
        assert browser.complaints() == []
    second = trained(browser, "#tried")
    assert second["from"] >= first["from"] + 2  # the agents of the table have other seeds at every click
    assert "&from=100" in browser.run("return document.querySelector('#tried a').href")


def test_a_small_playground_whose_worker_fails_says_so_and_stops(browser: Browser) -> None:
    browser.open("playground.html#steps=1000&agents=1&a=")
    browser.wait_for("#playground .play-main")
    browser.run(BROKEN)
    browser.run(PUT, HERE["clip"].setting)
    trained(browser, "#tried")
    said = "return document.querySelector('#tried .play-verdict').textContent"
    assert browser.run(said) == "Training stopped: Uncaught Error: no memory"


def test_a_click_in_a_chapter_trains_there_and_the_large_one_has_the_same_setting(browser: Browser) -> None:
    browser.open("chapters/13_segments.html")
    browser.wait_for(".train-here .play-main")
    found = trained(browser, ".train-here", 120)
    assert browser.complaints() == []
    assert found["verdict"] == "B"
    browser.open(
        browser.run("return document.querySelector('.train-here a').href").removeprefix(browser.folder.as_uri() + "/")
    )
    browser.wait_for("#playground .play-main")
    shown = browser.run("return [...document.querySelectorAll('.play-legend span')].map((each) => each.textContent)")
    assert shown == ["A: without segments", "B: with segments"]


def holds(here: TrainHere, found: dict[str, Any]) -> bool:
    """Whether a start shows what the text says."""
    if here.adds:
        return bool(found["verdict"] == here.verdict)
    return bool(max(found["late"]) >= 2 * min(found["late"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", HERE)
def test_most_starts_show_what_the_text_says(browser: Browser, name: str) -> None:
    browser.open("playground.html#steps=1000&agents=1&a=")
    browser.wait_for("#playground .play-main")
    browser.run(PUT, HERE[name].setting)
    held = [holds(HERE[name], trained(browser, "#tried", 600)) for _ in range(STARTS)]
    assert sum(held) >= HERE[name].least
