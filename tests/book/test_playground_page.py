"""The playground trains what its switches say, tells what the harness would, and is the same page from its address."""

import time

import numpy as np
import pandas as pd
import pytest
from support.browsing import Browser
from support.playground import CORRIDOR, CURVE, SLIDE, TWO, click, code, flip, opened, told, wait

from ablations import interval
from ablations.analysis.compared import would_do
from ablations.analysis.estimates import unpaired
from ablations.training.scores import on_grid
from chapters.book.site.growing import body
from tricks.ladder import switched

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")


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


def test_no_verdict_is_told_before_the_end(browser: Browser) -> None:
    opened(browser, TWO.replace("steps=2000", "steps=4000"))
    browser.run("const s = document.querySelector('.play-bar input'); s.value = 3; s.dispatchEvent(new Event('input'))")
    click(browser, "restart")
    seen = []
    while not (found := told(browser)).get("done"):
        seen += [found] if found.get("points") and min(found["reached"]) < 100 else []
        time.sleep(0.02)
    assert seen
    for early in seen:
        assert "better" not in early["text"]
        assert "agents each" not in early["text"]
        assert (early["verdict"], early["needed"]) == ("", None)
        assert early["text"].endswith("The verdict comes at the end.")
    assert "comes at the end" not in found["text"]


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
    opened(browser, "playground.html#world=Chess&a=clip&b=&b.lr=fast&return_first_batch=1&agents=1000&speed=3")
    said = browser.run("return document.querySelector('.play-problem').textContent")
    for part in (
        "no world Chess",
        "clip needs reuse",
        "b.lr is a number of at least 0, not fast",
        "return_first_batch is true or false, not 1",
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
