"""The playground trains what its switches say, tells what the harness would, and is the same page from its address."""

import time

import numpy as np
import pandas as pd
import pytest
from support.browsing import Browser
from support.playground import CORRIDOR, TWO, address, click, flip, opened, speed, told, trained, wait

from ablations import interval
from ablations.analysis.compared import would_do
from ablations.analysis.estimates import unpaired
from ablations.training.scores import on_grid
from chapters.book.site.growing import body
from tricks.ladder import switched

TOP = "return document.querySelector('.play-sliders').offsetTop"


def test_a_switch_trains_anew_shows_its_lines_in_the_loop_and_can_be_compared_with_before(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse")
    flip(browser, "clip")
    assert "a=baseline,reuse,clip" in address(browser)
    shown = [line for line in browser.texts(".play-code .loop-line") if line]
    assert shown == [line for line in body(switched(["baseline", "reuse", "clip"])) if line]
    assert any("clipped_surrogate(" in line for line in browser.texts(".play-fresh"))
    assert trained(browser)["reached"] == [100]
    click(browser, "Compare with before")
    assert "a=baseline,reuse&b=baseline,reuse,clip&" in address(browser)
    assert browser.texts(".play-legend span") == ["A: without clip", "B: with clip"]
    assert browser.complaints() == []


def test_a_switch_that_lacks_another_offers_it_and_moves_nothing(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=")
    before = browser.run(TOP)
    for trick in ("popart", "kl_stop", "baseline"):
        browser.run("document.querySelector(`.play-switches input[name=${arguments[0]}]`).focus()", trick)
        assert browser.run(TOP) == before
        flip(browser, trick)
        assert browser.run(TOP) == before
        if trick == "popart":
            assert browser.text(".play-fault").startswith("popart needs return_norm")
            assert address(browser).endswith("a=")  # the old agents go on
            click(browser, "switch on return_norm")
            assert "a=baseline,return_norm,popart" in address(browser)
            assert browser.text(".play-fault") == ""


def test_a_slider_of_a_trick_that_is_off_is_off_and_another_changes_the_setting(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline")
    off = "return [...document.querySelectorAll('.play-sliders input:disabled')].map((each) => each.name)"
    assert browser.run(off) == ["epochs", "clip_range", "gae_lambda", "entropy_coef"]
    browser.ask("set", ".play-sliders input[name=lr]", 0)
    assert "lr=0.0001" in address(browser)


def test_two_settings_are_compared_as_the_harness_compares_them(browser: Browser) -> None:
    opened(browser, TWO)
    found = trained(browser)
    having, without = (np.array(found[name]) for name in ("having", "without"))
    estimate = unpaired(having, without)
    assert [found["difference"], found["low"], found["high"]] == pytest.approx(list(estimate[:3]), rel=1e-3, abs=1e-6)
    assert found["needed"] == would_do(having, without)
    assert found["verdict"] == ("B" if estimate.low > 0 else "A" if estimate.high < 0 else "")
    assert len(browser.texts(".play-stage:not([hidden])")) == 2


def test_no_verdict_is_told_before_the_end(browser: Browser) -> None:
    opened(browser, TWO.replace("steps=2000", "steps=4000"))
    speed(browser, 3)
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


def test_curves_are_scored_on_the_grid_of_the_harness_and_intervals_are_its_own(browser: Browser) -> None:
    opened(browser, "playground.html#a=&steps=1000&agents=1")
    late = [(100, None), (250, 3.0), (700, 5.0), (900, None), (1005, 2.0)]
    early = [(250, 3.0), (700, 5.0), (710, 2.0)]
    for rows, diverged in ((late, False), (late, True), (early, True)):
        frame = pd.DataFrame(rows, columns=["step", "return"]).astype(float).assign(seed=0)
        theirs = on_grid(frame, 1000, {0: rows[-1][0]} if diverged else {}).to_numpy()[0]
        assert browser.ask("scores", rows, diverged) == pytest.approx(theirs.tolist())
    values = np.random.default_rng(0).lognormal(size=10)
    low, high = map(float, interval(values))
    found = browser.run("return Book.playground.interval(arguments[0])", values.tolist())
    assert found == pytest.approx([low, high], abs=0.05 * (high - low))


def test_a_link_brings_back_what_was_seen(browser: Browser) -> None:
    opened(browser, TWO)
    flip(browser, "entropy")
    browser.ask("set", ".play-sliders input[name=lr]", 0)
    browser.ask("set", ".play-follow select", 3)
    first, link = trained(browser), address(browser)
    for part in ("b=baseline,reuse,clip,entropy", "steps=2000&b.lr=0.0001", "agents=5", "watch=3", "hidden=8"):
        assert part in link
    opened(browser, f"playground.html{link}")
    assert trained(browser) == first


def test_a_link_with_impossible_things_says_which(browser: Browser) -> None:
    opened(browser, "playground.html#world=Chess&a=clip&b=&b.lr=fast&return_first_batch=1&agents=1000&speed=3")
    said = browser.text(".play-problem")
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
    speed(browser, 1)
    click(browser, "restart")
    browser.wait_for(".play-now")
    assert len(browser.texts(".play-now")) == 1
    click(browser, "pause")
    speed(browser, 4)
    time.sleep(1)  # an update that was begun is ended
    for _ in range(2):
        before = told(browser)["reached"]
        time.sleep(0.3)
        assert told(browser)["reached"] == before != [100]
        click(browser, "one update")
        wait(browser, lambda found, before=before: found["reached"][0] > before[0])  # type: ignore[misc]
        time.sleep(0.3)
