"""The playground's page in every state: a worker fails, other pages, little motion, small screens, each world."""

import time

import pytest
from support import playground
from support.browsing import Browser
from support.playground import CORRIDOR, TWO, address, click, opened, told, trained, wait

from chapters.book.site.playground import offered


def test_a_worker_that_fails_ends_the_training_with_its_message(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse&b=baseline")
    browser.ask("breakWorkers")
    click(browser, "restart")
    found = trained(browser)
    assert found["text"] == "Training stopped: Uncaught Error: no memory"
    time.sleep(0.3)
    assert browser.text(".play-verdict") == found["text"]
    assert browser.text(".play-main") == "train again"


def test_another_place_on_the_page_leaves_the_agents_alone(browser: Browser) -> None:
    opened(browser, "index.html")
    wait(browser, lambda found: found["reached"][0] > 0)
    setting = "return [...document.querySelectorAll('.play-switches input:checked')].map((each) => each.name)"
    before = browser.run(setting)
    browser.run("document.querySelector('.front-links a[href=\"#chapters\"]').click()")
    time.sleep(0.2)
    assert address(browser) == "#chapters"
    assert browser.run(setting) == before == ["baseline", "reuse", "clip"]
    assert browser.run("return document.querySelector('.play-problem').hidden")
    assert told(browser)["reached"][0] > 0


def test_ratios_and_numbers_are_of_the_arm_that_is_turned_to_and_stay_on_their_axes(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline&b=baseline,reuse")
    trained(browser)
    bars = "return [...document.querySelectorAll('.play-ratios rect')].map((each) => each.getAttribute('class'))"
    assert browser.text(".play-ratios-said").startswith("no range: the largest 1")
    assert {*browser.run(bars)} == {"arm-b"}
    click(browser, "A")
    time.sleep(0.3)
    assert browser.text(".play-ratios-said") == "Each batch is used once: no ratios."
    assert browser.run(bars) == []
    for axis, line in browser.ask("ends"):
        assert line <= axis + 0.2


def test_who_wants_no_motion_starts_the_training_and_sees_how_each_update_ended(browser: Browser) -> None:
    still = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", still)
    try:
        opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse")
        assert browser.text(".play-main") == "train"
        assert told(browser)["reached"] == [0]
        click(browser, "train")
        trained(browser)
        numbers = ".querySelector('.play-stage figcaption').textContent.match(/\\d+/g).map(Number)"
        update, step, of = browser.run(f"return document{numbers}")
        assert update > 1  # it is the last film, not the first
        assert step == of
        assert browser.complaints() == []
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_every_world_is_drawn(browser: Browser) -> None:
    opened(browser, "playground.html#a=&agents=1&steps=1000")
    ids = browser.run("return [...document.querySelector('.play-row select').options].map((each) => each.value)")
    kinds = browser.run("return arguments[0].map((id) => Playground.WORLDS[id].kind)", ids)
    assert {*kinds} == {*browser.run("return Object.values(Playground.WORLDS).map(({ kind }) => kind)")}
    for id in dict(zip(kinds, ids, strict=True)).values():
        opened(browser, f"playground.html#world={id}&a=&agents=1&steps=6000")
        trained(browser)
        time.sleep(0.2)
        assert not browser.ask("blank", ".play-stage canvas"), id
        assert browser.complaints() == []


def test_no_worker_outlives_its_setting_or_its_page(browser: Browser) -> None:
    browser.open("genindex.html")
    source = {"source": playground.COUNT_WORKERS}
    browser.driver.execute_cdp_cmd("Page.enable", {})
    added = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source)
    try:
        browser.open(f"playground.html#{CORRIDOR}&a=baseline,reuse")
        browser.wait_for("#playground .play-main")
        for _ in range(3):
            click(browser, "restart")
        assert 1 <= browser.run("return born - gone") <= browser.run("return navigator.hardwareConcurrency")
        browser.run("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
        assert browser.run("return born - gone") == 0
        browser.run("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
        assert trained(browser)["reached"] == [100]
        assert browser.run("return born - gone") == 0
        assert browser.complaints() == []
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


@pytest.mark.parametrize("page", ["playground.html", "index.html"])
def test_it_fits_a_phone_and_is_dark_in_the_dark_and_nothing_jumps(page: str, browser: Browser) -> None:
    with browser.sized(400):
        opened(browser, f"{page}#{CORRIDOR}&a=baseline,reuse&b=baseline")
        places = "return [...document.querySelectorAll('.play-grid > div')].map((each) => each.offsetHeight)"
        before = browser.run(places)
        assert browser.run("return document.documentElement.scrollWidth") <= 400
        trained(browser)
        assert browser.run(places) == before
        browser.run("document.documentElement.dataset.theme = 'dark'")
        ink = "return getComputedStyle(document.querySelector('.play-verdict')).color.match(/\\d+/g).map(Number)"
        assert min(browser.run(ink)[:3]) > 150


@pytest.mark.parametrize("width", [1280, 1440])
def test_every_line_of_the_loop_is_seen_whole_beside_the_switches(width: int, browser: Browser) -> None:
    with browser.sized(width):
        opened(browser, f"playground.html#{CORRIDOR}&a={','.join(offered())}")
        shown, whole, tallest, size = browser.ask("extent")
    assert whole <= shown
    assert tallest < 2 * size
    assert size >= 9.6  # pixels


def test_what_is_said_of_the_agents_moves_nothing(browser: Browser) -> None:
    range_ = "B − A over the whole run is −0.0571 (95%: −0.1400 to −0.0034)"
    long = f"Can't tell: {range_}; at this spread more than 10,000 agents each would."
    one = "30 agents, mean return over the whole run: −0.0571 (95%: −0.1400 to −0.0034)."
    lone = "The best got −0.0029, the worst −0.1500. Had you trained seed 10 alone, you'd report −0.0712."
    opened(browser, TWO)
    trained(browser)
    for width in (400, 1280, 1440):
        with browser.sized(width):
            nothing = browser.ask("say", "", "")
            ahead = "Seed 10 alone says −0.0571. Seed by seed, B is ahead in 10 of 30."
            assert browser.ask("say", long, ahead) == browser.ask("say", one, lone) == nothing
