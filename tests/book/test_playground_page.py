"""The playground trains what its switches say, tells what the harness would, and is the same page from its address."""

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.browsing import Browser

from ablations import interval
from ablations.analysis.compared import would_do
from ablations.analysis.estimates import unpaired
from ablations.training.scores import on_grid
from chapters.book.site.growing import body
from tricks.ladder import switched

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
CORRIDOR = "world=tricks/Corridor1-v0&lr=0.01&steps=2000&hidden=8&agents=5&horizon=32&lanes=8"
CURVE = """
const curve = new Book.playground.Curve(1000), [rows, diverged] = arguments;
rows.forEach(([step, y], k) => {
  const active = k < rows.length - 1;
  curve.add({ step, return: y ?? NaN, active, diverged: !active && diverged });
});
return curve.values;
"""
SLIDE = """
const slider = document.querySelector(`.play-sliders input[name=${arguments[0]}]`);
slider.value = arguments[1];
for (const kind of ["input", "change"]) slider.dispatchEvent(new Event(kind));
"""
SAY = """
document.querySelector(".play-verdict").textContent = arguments[0];
document.querySelector(".play-lone").textContent = arguments[1];
return document.querySelector(".play-follow").offsetTop;
"""
BROKEN = """
Playground.Session.source = 'onmessage = () => { throw new Error("no memory"); }';
"""
BLANK = """
const { width, height } = arguments[0];
return !arguments[0].getContext("2d").getImageData(0, 0, width, height).data.some((each) => each);
"""
TWO = f"playground.html#{CORRIDOR}&a=&b=baseline,reuse,clip"


def told(browser: Browser) -> dict[str, Any]:
    return dict(json.loads(browser.run("return document.getElementById('playground').dataset.told ?? '{}'")))


def wait(browser: Browser, done: Callable[[dict[str, Any]], Any], seconds: float = 60) -> dict[str, Any]:
    """What the page tells once `done` says so."""
    end = time.monotonic() + seconds
    while not done(found := told(browser)):
        assert time.monotonic() < end, found
        time.sleep(0.05)
    return found


def opened(browser: Browser, address: str) -> Browser:
    browser.open("genindex.html")  # so that a new # is a new page
    browser.open(address)
    browser.wait_for("#playground .play-main")
    return browser


def click(browser: Browser, text: str) -> None:
    """Press the button with this text."""
    script = "[...document.querySelectorAll('#playground button')].find((b) => b.textContent === arguments[0]).click()"
    browser.run(script, text)


def flip(browser: Browser, trick: str) -> None:
    browser.run("document.querySelector(`.play-switches input[name=${arguments[0]}]`).click()", trick)


def code(browser: Browser) -> list[str]:
    """The loop as it is shown, without its blank lines."""
    lines = browser.run(
        "return [...document.querySelectorAll('.play-code .loop-line')].map((line) => line.textContent)"
    )
    return [line for line in lines if line]


def test_a_switch_trains_anew_and_shows_its_lines_in_the_loop(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse")
    flip(browser, "clip")
    assert "a=baseline,reuse,clip" in browser.run("return location.hash")
    assert code(browser) == [line for line in body(switched(["baseline", "reuse", "clip"])) if line]
    fresh = browser.run("return [...document.querySelectorAll('.play-fresh')].map((line) => line.textContent)")
    assert any("clipped_surrogate(" in line for line in fresh)
    assert wait(browser, lambda found: found.get("done"))["reached"] == [100]
    assert browser.complaints() == []


def test_a_switch_that_lacks_another_says_so_and_offers_it(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=")
    flip(browser, "popart")
    fault = browser.run("return document.querySelector('.play-fault').textContent")
    assert fault.startswith("popart needs return_norm")
    assert browser.run("return location.hash").endswith("a=")  # the old agents go on
    click(browser, "switch on return_norm")
    assert "a=baseline,return_norm,popart" in browser.run("return location.hash")
    assert browser.run("return document.querySelector('.play-fault').textContent") == ""


def test_a_slider_of_a_trick_that_is_off_is_off_and_another_changes_the_setting(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline")
    off = "return [...document.querySelectorAll('.play-sliders input')].filter((x) => x.disabled).map((x) => x.name)"
    assert browser.run(off) == ["epochs", "clip_range", "gae_lambda", "entropy_coef"]
    browser.run(SLIDE, "lr", 0)
    assert "lr=0.0001" in browser.run("return location.hash")


def test_two_settings_are_compared_as_the_harness_compares_them(browser: Browser) -> None:
    opened(browser, TWO)
    found = wait(browser, lambda found: found.get("done"))
    having, without = (np.array(found[name]) for name in ("having", "without"))
    estimate = unpaired(having, without)
    assert [found["difference"], found["low"], found["high"]] == pytest.approx(list(estimate[:3]), rel=1e-3, abs=1e-6)
    assert found["needed"] == would_do(having, without)
    assert found["verdict"] == ("B" if estimate.low > 0 else "A" if estimate.high < 0 else "")
    assert browser.run("return document.querySelectorAll('.play-stage:not([hidden])').length") == 2


def test_curves_are_scored_on_the_grid_of_the_harness(browser: Browser) -> None:
    opened(browser, "playground.html#a=&steps=1000&agents=1")
    late = [(100, None), (250, 3.0), (700, 5.0), (900, None), (1005, 2.0)]
    early = [(250, 3.0), (700, 5.0), (710, 2.0)]
    for rows, diverged in ((late, False), (late, True), (early, True)):
        frame = pd.DataFrame(
            [(0, step, np.nan if y is None else y) for step, y in rows], columns=["seed", "step", "return"]
        )
        theirs = on_grid(frame, 1000, {0: rows[-1][0]} if diverged else {}).to_numpy()[0]
        assert browser.run(CURVE, rows, diverged) == pytest.approx(theirs.tolist())


def test_an_interval_is_that_of_the_harness(browser: Browser) -> None:
    opened(browser, "playground.html#a=&steps=1000&agents=1")
    values = np.random.default_rng(0).lognormal(size=10)
    low, high = interval(values)
    width = float(high - low)
    assert browser.run("return Book.playground.interval(arguments[0])", values.tolist()) == pytest.approx(
        [float(low), float(high)], abs=0.05 * width
    )


def test_a_link_brings_back_what_was_seen(browser: Browser) -> None:
    opened(browser, TWO)
    flip(browser, "entropy")
    browser.run(SLIDE, "lr", 0)
    browser.run(
        "const s = document.querySelector('.play-follow select'); s.value = 3; s.dispatchEvent(new Event('change'))"
    )
    first = wait(browser, lambda found: found.get("done"))
    address = browser.run("return location.hash")
    for part in ("b=baseline,reuse,clip,entropy", "steps=2000&b.lr=0.0001", "agents=5", "watch=3", "hidden=8"):
        assert part in address
    opened(browser, f"playground.html{address}")
    assert wait(browser, lambda found: found.get("done")) == first


def test_a_link_with_impossible_things_says_which(browser: Browser) -> None:
    opened(browser, "playground.html#world=Chess&a=clip&lr=fast&agents=1000&speed=3")
    said = browser.run("return document.querySelector('.play-problem').textContent")
    for part in (
        "no world Chess",
        "clip needs reuse",
        "lr is",
        "agents is a whole number from 1 to 30",
        "called speed",
    ):
        assert part in said
    assert browser.complaints() == []


def test_paused_it_steps_one_update_and_slowly_it_marks_the_line_that_is_worked_on(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse")
    browser.run("const s = document.querySelector('.play-bar input'); s.value = 1; s.dispatchEvent(new Event('input'))")
    click(browser, "restart")
    browser.wait_for(".play-now")
    assert browser.run("return document.querySelectorAll('.play-now').length") == 1
    click(browser, "pause")
    browser.run("const s = document.querySelector('.play-bar input'); s.value = 4; s.dispatchEvent(new Event('input'))")
    time.sleep(1)  # an update that was begun is ended
    for _ in range(2):
        before = told(browser)["reached"]
        time.sleep(0.3)
        assert told(browser)["reached"] == before != [100]
        click(browser, "one update")
        wait(browser, lambda found, before=before: found["reached"][0] > before[0])  # type: ignore[misc]
        time.sleep(0.3)


def test_a_worker_that_fails_ends_the_training_with_its_message(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse&b=baseline")
    browser.run(BROKEN)
    click(browser, "restart")
    found = wait(browser, lambda found: found.get("done"))
    assert found["text"] == "Training stopped: Uncaught Error: no memory"
    time.sleep(0.3)
    assert browser.run("return document.querySelector('.play-verdict').textContent") == found["text"]
    assert browser.run("return document.querySelector('.play-main').textContent") == "train again"


def test_another_place_on_the_page_leaves_the_agents_alone(browser: Browser) -> None:
    opened(browser, "index.html")
    wait(browser, lambda found: found["reached"][0] > 0)
    setting = "return [...document.querySelectorAll('.play-switches input:checked')].map((each) => each.name)"
    before = browser.run(setting)
    browser.run("document.querySelector('.front-links a[href=\"#chapters\"]').click()")
    time.sleep(0.2)
    assert browser.run("return location.hash") == "#chapters"
    assert browser.run(setting) == before == ["baseline", "reuse", "clip"]
    assert browser.run("return document.querySelector('.play-problem').hidden")
    assert told(browser)["reached"][0] > 0


def test_compared_with_before_b_is_the_change(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse,clip")
    flip(browser, "clip")
    click(browser, "Compare with before")
    assert "a=baseline,reuse,clip&b=baseline,reuse&" in browser.run("return location.hash")
    names = "return [...document.querySelectorAll('.play-legend span')].map((each) => each.textContent)"
    assert browser.run(names) == ["A: with clip", "B: without clip"]


def test_ratios_and_numbers_are_of_the_arm_that_is_turned_to_and_stay_on_their_axes(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline&b=baseline,reuse")
    wait(browser, lambda found: found.get("done"))
    said = "return document.querySelector('.play-ratios-said').textContent"
    bars = "return [...document.querySelectorAll('.play-ratios rect')].map((each) => each.getAttribute('class'))"
    assert browser.run(said).startswith("no range: the largest 1")
    assert {*browser.run(bars)} == {"arm-b"}
    click(browser, "A")
    time.sleep(0.3)
    assert browser.run(said) == "Each batch is used once: no ratios."
    assert browser.run(bars) == []
    ends = """
    return [...document.querySelectorAll(".play-gauge svg")].map((svg) => {
      const [axis, ...lines] = [...svg.querySelectorAll("path")].map((path) => path.getBBox());
      return [axis.x + axis.width, Math.max(...lines.map(({ x, width }) => x + width))];
    });
    """
    for axis, line in browser.run(ends):
        assert line <= axis + 0.2


def test_who_wants_no_motion_starts_the_training_and_sees_how_each_update_ended(browser: Browser) -> None:
    still = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", still)
    try:
        opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse")
        assert browser.run("return document.querySelector('.play-main').textContent") == "train"
        assert told(browser)["reached"] == [0]
        click(browser, "train")
        wait(browser, lambda found: found.get("done"))
        update, step, of = browser.run(
            "return document.querySelector('.play-stage figcaption').textContent.match(/\\d+/g).map(Number)"
        )
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
        wait(browser, lambda found: found.get("done"))
        time.sleep(0.2)
        canvas = browser.run("return document.querySelector('.play-stage canvas')")
        assert not browser.run(BLANK, canvas), id
        assert browser.complaints() == []


def test_what_is_said_below_the_switches_moves_nothing(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=")
    top = "return document.querySelector('.play-sliders').offsetTop"
    before = browser.run(top)
    for trick in ("popart", "kl_stop", "baseline"):
        browser.run("document.querySelector(`.play-switches input[name=${arguments[0]}]`).focus()", trick)
        assert browser.run(top) == before
        flip(browser, trick)
        assert browser.run(top) == before


def test_no_worker_outlives_its_setting_or_its_page(browser: Browser) -> None:
    browser.open("genindex.html")
    count = """
    const ended = Worker.prototype.terminate;
    window.born = window.gone = 0;
    window.Worker = class extends Worker { constructor(...given) { super(...given); born++; } };
    Worker.prototype.terminate = function () { gone++; return ended.call(this); };
    """
    browser.driver.execute_cdp_cmd("Page.enable", {})
    added = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": count})
    try:
        browser.open(f"playground.html#{CORRIDOR}&a=baseline,reuse")
        browser.wait_for("#playground .play-main")
        for _ in range(3):
            click(browser, "restart")
        running = browser.run("return born - gone")
        assert 1 <= running <= browser.run("return navigator.hardwareConcurrency")
        browser.run("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
        assert browser.run("return born - gone") == 0
        browser.run("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
        assert wait(browser, lambda found: found.get("done"))["reached"] == [100]
        assert browser.run("return born - gone") == 0
        assert browser.complaints() == []
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


@pytest.mark.parametrize("page", ["playground.html", "index.html"])
def test_it_fits_a_phone_and_is_dark_in_the_dark_and_nothing_jumps(page: str, browser: Browser) -> None:
    browser.resize(400)
    try:
        opened(browser, f"{page}#{CORRIDOR}&a=baseline,reuse&b=baseline")
        places = "return [...document.querySelectorAll('.play-grid > div')].map((each) => each.offsetHeight)"
        before = browser.run(places)
        assert browser.run("return document.documentElement.scrollWidth") <= 400
        wait(browser, lambda found: found.get("done"))
        assert browser.run(places) == before
        browser.run("document.documentElement.dataset.theme = 'dark'")
        ink = "return getComputedStyle(document.querySelector('.play-verdict')).color.match(/\\d+/g).map(Number)"
        assert min(browser.run(ink)[:3]) > 150
    finally:
        browser.resize(1440)


@pytest.mark.parametrize("width", [400, 1440])
def test_what_is_said_of_the_agents_moves_nothing(width: int, browser: Browser) -> None:
    browser.resize(width)
    try:
        opened(browser, TWO)
        wait(browser, lambda found: found.get("done"))
        range_ = "B − A over the whole run is −0.0571 (95%: −0.1400 to −0.0034)"
        long = f"Can't tell yet: {range_}; at this spread more than 10,000 agents each would."
        nothing = browser.run(SAY, "", "")
        assert browser.run(SAY, long, "Seed 10 alone says −0.0571. Seed by seed, B is ahead in 10 of 30.") == nothing
        one = "30 agents, mean return over the whole run: −0.0571 (95%: −0.1400 to −0.0034)."
        lone = "The best got −0.0029, the worst −0.1500. Had you trained seed 10 alone, you'd report −0.0712."
        assert browser.run(SAY, one, lone) == nothing
    finally:
        browser.resize(1440)
