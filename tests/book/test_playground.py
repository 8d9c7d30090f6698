"""The playground, small ones in chapters, the atlas, and moving figures say what the library says."""

import json
import re
import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import ttest_ind
from support.browsing import Browser
from support.commands import until
from support.fixtures import Patch, refusal
from support.pages import ROOT
from support.studies import study

from ablations import AT_BEST, OVER_ALL, area, effects_by_rate, in_general, interval, on_grid, unpaired
from ablations.analysis.records import SHARES
from ablations.question.designs import ladder
from chapters.book.build import names
from chapters.book.evidence import Evidence, evidence, in_short
from chapters.book.lines import legal_sets, read, resolved, tree
from chapters.book.ratios import ratios_by_epoch, shares_by_epoch
from chapters.book.results import FOLDER, rounded, store, studies
from chapters.book.site.atlas import arm_data, effects_data, environment_data
from chapters.book.site.growing import body, lines, origins, steps
from chapters.book.site.playground import offered
from chapters.book.site.playing import RATES, home
from chapters.book.site.traced import in_letters, shapes
from chapters.book.site.train_here import HERE
from chapters.exercises.diagnostics import FAULTS
from tricks import EVERY, PPG, PPO, REINFORCE, Config, Tricks, diff, listing
from tricks.annealing import linear_decay
from tricks.cli.shell import parse
from tricks.clip import clipped_surrogate
from tricks.core.moments import ReturnStats, denormalize
from tricks.core.nets import mlp
from tricks.core.seeds import stream
from tricks.dual_clip import bounded_below
from tricks.gae import gae
from tricks.ladder import LADDER, NEEDS, named, switched
from tricks.orthogonal_init import orthogonal_
from tricks.popart import preserve_outputs_
from tricks.worlds.line import REACH, observe

CORRIDOR = "world=tricks/Corridor1-v0&lr=0.01&steps=2000&hidden=8&agents=5&horizon=32&lanes=8"
COUNT_WORKERS = """
const ended = Worker.prototype.terminate;
window.born = window.gone = 0;
window.Worker = class extends Worker { constructor(...given) { super(...given); born++; } };
Worker.prototype.terminate = function () { gone++; return ended.call(this); };
"""
HASH, TOP = "return location.hash", "return document.querySelector('.play-tricks + .play-sliders').offsetTop"
RATES_BUTTON = ".play-rates button"
LEGEND = ".play-agents > .play-legend span"
TWO = f"playground.html#{CORRIDOR}&a=&b=baseline,reuse,clip"


Said = dict[str, Any]


def told(browser: Browser, selector: str = "#playground") -> Said:
    return dict(json.loads(browser.run("return document.querySelector(arguments[0]).dataset.told ?? '{}'", selector)))


def wait(browser: Browser, done: Callable[[Said], Any], selector: str = "#playground", seconds: float = 60) -> Said:
    """What the page tells once `done` says so."""
    return dict(until(lambda: done(found := told(browser, selector)) and found, seconds))


def trained(browser: Browser, selector: str = "#playground", seconds: float = 60) -> dict[str, Any]:
    return wait(browser, lambda found: found.get("done"), selector, seconds)


def both_trained(browser: Browser) -> dict[str, Any]:
    """What the page tells once the agents from before have ended, too."""
    return wait(browser, lambda found: found.get("done") and "so far" not in found["text"])


def opened(browser: Browser, address: str) -> Browser:
    browser.open("genindex.html")  # so that a new # is a new page
    browser.open(address)
    browser.wait_for("#playground .play-main")
    return browser


@pytest.fixture
def empty(browser: Browser) -> Browser:
    """A playground with one short agent, for what does not depend on it, or to put small playgrounds in."""
    return opened(browser, "playground.html#steps=1000&agents=1&a=")


def flip(browser: Browser, trick: str) -> None:
    browser.run("document.querySelector(`.play-switches input[name=${arguments[0]}]`).click()", trick)


def test_a_switch_trains_anew_shows_its_lines_in_the_loop_and_can_be_compared_with_before(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse")
    flip(browser, "clip")
    assert "a=baseline,reuse,clip" in browser.run(HASH)
    shown = [line for line in browser.texts(".play-code .loop-line") if line]
    assert shown == [line for line in body(switched(["baseline", "reuse", "clip"])) if line]
    assert any("clipped_surrogate(" in line for line in browser.texts(".play-fresh"))
    found = both_trained(browser)
    assert browser.texts(LEGEND) == ["before: without clip", "now: with clip"]
    assert browser.texts(".play-end") == ["now", "before"]
    assert found["difference"] == pytest.approx(np.mean(found["having"]) - np.mean(found["without"]))
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse")
    assert trained(browser)["areas"] == found["without"]  # before: the agents of that setting, trained to their end
    assert browser.complaints() == []


def test_what_was_before_is_what_was_last_trained_and_only_where_the_axes_are_the_same(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse")
    for change, legend in (
        (lambda: browser.ask("set", ".play-sliders input[name=lr]", 0), ["before: lr 0.01", "now: lr 0.0001"]),
        (lambda: browser.ask("press", "restart"), ["before: lr 0.01", "now: lr 0.0001"]),
        (lambda: browser.ask("set", ".play-sliders input[name=lr]", 3), ["before: lr 0.0001", "now: lr 0.003"]),
        (lambda: browser.ask("press", "other seeds"), ["up to reuse"]),
        (lambda: flip(browser, "clip"), ["before: without clip", "now: with clip"]),
        (lambda: browser.ask("press", "Compare A with B"), ["A: up to clip", "B: ppo"]),
        (lambda: flip(browser, "entropy"), ["before: with entropy", "A: up to clip", "B: ppo without entropy"]),
        (lambda: browser.ask("press", "×"), ["ppo without entropy"]),
    ):
        change()
        assert browser.texts(LEGEND) == legend
    browser.ask("press", "pause")
    browser.ask("press", "restart")
    flip(browser, "entropy")
    assert browser.texts(LEGEND) == ["ppo"]  # of agents that had not begun, there is nothing to see


NAMES = {
    "a=baseline,reuse&b=baseline,reuse,clip": ["A: without clip", "B: with clip"],
    "a=baseline,gae&b=baseline,entropy&b.lr=0.003": ["A: with gae, lr 0.01", "B: with entropy, lr 0.003"],
    "a=&b=baseline,reuse,clip,gae": ["A: reinforce", "B: up to gae"],
    "a=reuse,clip&a.objective=log_ratio*advantage&b=reuse,clip": ["A: log_ratio*advantage", "B: the clip"],
    "a=&b=baseline,reuse,clip,gae,segments,entropy": ["A: reinforce", "B: up to gae with entropy and segments"],
    "a=baseline&b=baseline,reuse,clip,dual_clip,huber,kl_stop": ["A: up to baseline", "B: up to clip with 3 tricks"],
}


@pytest.mark.parametrize("arms", NAMES)
def test_settings_that_differ_much_have_names_instead_of_lists(arms: str, browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&{arms}")
    assert browser.texts(LEGEND) == NAMES[arms]


def test_labels_never_overlap(browser: Browser) -> None:
    with browser.sized(420):
        opened(browser, f"playground.html#{CORRIDOR}&lr=0.001&a=baseline&b=baseline,reuse,clip,gae,segments,entropy")
        flip(browser, "grad_clip")
        both_trained(browser)
        assert sorted(browser.texts(".play-end")) == ["A", "B", "before"]
        for place in (".play-end", LEGEND):
            assert browser.ask("overlapping", place) == 0


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
            assert browser.run(HASH).endswith("a=")  # the old agents go on
            browser.ask("press", "switch on return_norm")
            assert "a=baseline,return_norm,popart" in browser.run(HASH) and browser.text(".play-fault") == ""


def test_flags_of_replies_are_offered_with_prompts_and_what_excludes_another_mends_itself(browser: Browser) -> None:
    opened(browser, "playground.html#world=tricks/Odds-v0&a=baseline&steps=2000&agents=2")
    shown = "return [...document.querySelectorAll('.play-switch:not([hidden]) input')].map((each) => each.name)"
    assert {"imitate", "group_norm", "kl_penalty"} <= {*browser.run(shown)}
    flip(browser, "group_baseline")
    assert browser.text(".play-fault").startswith("group_baseline cannot be combined with baseline")
    browser.ask("press", "switch off baseline")
    assert "a=group_baseline&" in browser.run(HASH) and browser.text(".play-fault") == ""
    assert "replies to “" in until(lambda: browser.text(".play-stage figcaption").strip())
    browser.ask("set", ".play-row select", "CartPole-v1")
    assert "a=&" in browser.run(f"{HASH} + '&'") and "group_norm" not in browser.run(shown)


def test_a_slider_of_a_trick_that_is_off_is_off_and_another_changes_the_setting(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline")
    off = "return [...document.querySelectorAll('.play-sliders input:disabled')].map((each) => each.name)"
    assert browser.run(off) == ["epochs", "clip_range", "gae_lambda", "entropy_coef", "clip_high", "kl_coef"]
    browser.ask("set", ".play-sliders input[name=lr]", 0)
    assert "lr=0.0001" in browser.run(HASH)


def test_two_settings_are_compared_as_the_harness_compares_them(browser: Browser) -> None:
    opened(browser, TWO)
    found = trained(browser)
    having, without = (np.array(found[name]) for name in ("having", "without"))
    estimate = unpaired(having, without)
    assert [found["difference"], found["low"], found["high"]] == pytest.approx(list(estimate[:3]), rel=1e-3, abs=1e-6)
    assert found["verdict"] == ("B" if estimate.low > 0 else "A" if estimate.high < 0 else "")
    assert len(browser.texts(".play-stage:not([hidden])")) == 2


def test_no_verdict_is_told_before_the_end(browser: Browser) -> None:
    opened(browser, TWO.replace("steps=2000", "steps=4000"))
    browser.ask("set", ".play-bar input", 3)
    browser.ask("press", "restart")
    seen = []
    while not (found := told(browser)).get("done"):
        seen += [found] if found.get("points") and min(found["reached"]) < 100 else []
        time.sleep(0.02)
    assert seen
    for early in seen:
        assert "better" not in early["text"] and early["verdict"] == ""
        assert early["text"].endswith("The verdict comes at the end.")
    assert "comes at the end" not in found["text"]


def test_every_rate_is_trained_by_a_group_of_each_setting(browser: Browser) -> None:
    opened(browser, "playground.html#a=&agents=1&steps=1000&lr=0.03")
    assert "rate, 0.03, was chosen so that the clip decides" in browser.text(".play-rates p")
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse,clip")
    assert browser.text(".play-rates p").startswith("What one sees may depend on the learning rate.")
    alone = trained(browser)["areas"]
    browser.ask("press", "At every rate: without clip / with clip")
    until(lambda: browser.text(RATES_BUTTON) != "stop", seconds=120)
    said = browser.text(".play-rates p[role=status]")
    assert said.startswith("With intervals that hold at all rates together (95%), ")
    groups = json.loads(browser.run("return document.querySelector('.play-rates').dataset.told"))
    assert [x["lr"] for x in groups[:4]] == [0.01, 0.01, 0.03, 0.03]  # the nearest to the setting's own come first
    assert len({(x["lr"], x["which"]) for x in groups}) == 2 * RATES == len(browser.texts(".play-rates circle"))
    assert groups[1]["areas"] == pytest.approx(alone)  # the group at the page's rate are the page's agents
    flip(browser, "entropy")
    assert browser.text(RATES_BUTTON) == "At every rate: without entropy / with entropy"
    assert browser.run("return document.querySelector('.play-rates svg').checkVisibility()") is False


def test_rates_at_which_settings_differ_are_told_by_intervals_for_all_of_them_together(empty: Browser) -> None:
    random = np.random.default_rng(0)
    having, without = random.normal(1, 1, 5), random.normal(0, 2, 5)
    low, high = ttest_ind(having, without, equal_var=False).confidence_interval(1 - 0.05 / RATES)
    found = empty.run("return Book.playground.welch(...arguments, PLAYED.joint)", having.tolist(), without.tolist())
    assert [found["low"], found["high"]] == pytest.approx([low, high], rel=0.01)
    assert empty.run("return Book.playground.RATES.length") == RATES


def test_of_twenty_comparisons_of_a_setting_with_itself_one_gets_a_verdict(empty: Browser) -> None:
    arms = [(kept, arm) for kept in studies() for design in kept.designs for arm in design.arms]
    areas = [area(kept.grid(arm)) for kept, arm in arms if kept.env == "CartPole-v1"]
    found = [empty.ask("falseVerdicts", each.tolist(), 10, 400) for each in areas if len(each) >= 30]
    assert len(found) > 20 and 0.035 < np.mean(found) < 0.055


def test_curves_are_scored_on_the_grid_of_the_harness_and_intervals_are_its_own(empty: Browser) -> None:
    late = [(100, None), (250, 3.0), (700, 5.0), (900, None), (1005, 2.0)]
    early = [(250, 3.0), (700, 5.0), (710, 2.0)]
    for rows, diverged in ((late, False), (late, True), (early, True)):
        frame = pd.DataFrame(rows, columns=["step", "return"]).astype(float).assign(seed=0)
        theirs = on_grid(frame, 1000, {0: rows[-1][0]} if diverged else {}).to_numpy()[0]
        assert empty.ask("scores", rows, diverged) == pytest.approx(theirs.tolist())
    values = np.random.default_rng(0).lognormal(size=10)
    low, high = map(float, interval(values))
    found = empty.run("return Book.playground.interval(arguments[0])", values.tolist())
    assert found == pytest.approx([low, high], abs=0.05 * (high - low))


def test_a_link_brings_back_what_was_seen(browser: Browser) -> None:
    opened(browser, TWO)
    flip(browser, "entropy")
    browser.ask("set", ".play-sliders input[name=lr]", 0)
    browser.ask("set", ".play-follow select", 3)
    first, link = trained(browser), browser.run(HASH)
    for part in ("b=baseline,reuse,clip,entropy", "steps=2000&b.lr=0.0001", "agents=5", "watch=3", "hidden=8"):
        assert part in link
    opened(browser, f"playground.html{link}")
    assert trained(browser) == first


def test_a_link_with_impossible_things_says_which(browser: Browser) -> None:
    numbers = "world=Chess&a=clip&b=&b.lr=fast&return_first_batch=1&agents=1000&speed=3"
    said = ["no world Chess", "clip needs reuse", "b.lr is a number of at least 0, not fast", "called speed"]
    said += ["return_first_batch is true or false, not 1", "agents is a whole number from 1 to 30"]
    replies = "world=tricks/Odds-v0&a=group_baseline&lanes=30&b=kl_penalty&kl_in=nowhere"
    of_replies = ["30 lanes are no whole groups of 8", "kl_in is loss or reward, not nowhere"]
    own = "steps=1000&a=&a.objective=ratio&b=baseline,reuse,clip&b.objective=ratio*&b.fault=magic"
    of_own = ["so it needs clip", "in b.objective, something is missing after the `*`", "unknown fault magic"]
    for link, parts in ((numbers, said), (replies, of_replies), (own, of_own)):
        opened(browser, f"playground.html#{link}")
        assert [part for part in parts if part not in browser.text(".play-problem")] == []
        assert browser.complaints() == []


def test_paused_it_steps_one_update_and_slowly_it_marks_the_line_that_is_worked_on(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse")
    browser.ask("set", ".play-bar input", 1)
    browser.ask("press", "restart")
    browser.wait_for(".play-now")
    assert len(browser.texts(".play-now")) == 1
    browser.ask("press", "pause")
    browser.ask("set", ".play-bar input", 4)
    time.sleep(1)  # an update that was begun is ended
    for _ in range(2):
        before = told(browser)["reached"]
        time.sleep(0.3)
        assert told(browser)["reached"] == before != [100]
        browser.ask("press", "one update")
        wait(browser, lambda found, before=before: found["reached"][0] > before[0])  # type: ignore[misc]
        time.sleep(0.3)


def test_a_worker_that_fails_ends_the_training_with_its_message(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse&b=baseline")
    browser.ask("breakWorkers")
    browser.ask("press", "restart")
    found = trained(browser)
    assert found["text"] == "Training stopped: Uncaught Error: no memory"
    time.sleep(0.3)
    assert browser.text(".play-verdict") == found["text"] and browser.text(".play-main") == "train again"


def test_another_place_on_the_page_leaves_the_agents_alone(browser: Browser) -> None:
    opened(browser, "index.html")
    wait(browser, lambda found: found["reached"][0] > 0)
    setting = "return [...document.querySelectorAll('.play-switches input:checked')].map((each) => each.name)"
    before = browser.run(setting)
    browser.run("document.querySelector('.front-links a[href=\"#chapters\"]').click()")
    time.sleep(0.2)
    assert browser.run(HASH) == "#chapters"
    assert browser.run(setting) == before == ["baseline", "reuse", "clip"]
    assert browser.run("return document.querySelector('.play-problem').hidden")
    assert told(browser)["reached"][0] > 0


def test_ratios_and_numbers_are_of_the_arm_that_is_turned_to_and_stay_on_their_axes(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline&b=baseline,reuse")
    trained(browser)
    bars = "return [...document.querySelectorAll('.play-ratios rect')].map((each) => each.getAttribute('class'))"
    assert browser.text(".play-ratios-said").startswith("no range: the largest 1")
    assert {*browser.run(bars)} == {"arm-b"}
    browser.ask("press", "A")
    time.sleep(0.3)
    assert browser.text(".play-ratios-said") == "Each batch is used once: no ratios." and browser.run(bars) == []
    assert all(line <= axis + 0.2 for axis, line in browser.ask("ends"))


def test_who_wants_no_motion_starts_the_training_and_sees_how_each_update_ended(browser: Browser) -> None:
    still = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", still)
    try:
        opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse")
        assert browser.text(".play-main") == "train" and told(browser)["reached"] == [0]
        browser.ask("press", "train")
        trained(browser)
        numbers = ".querySelector('.play-stage figcaption').textContent.match(/\\d+/g).map(Number)"
        update, step, of = browser.run(f"return document{numbers}")
        assert update > 1  # it is the last film, not the first
        assert step == of
        assert browser.complaints() == []
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_every_world_is_drawn(empty: Browser) -> None:
    ids = empty.run("return [...document.querySelector('.play-row select').options].map((each) => each.value)")
    kinds = empty.run("return arguments[0].map((id) => Playground.WORLDS[id].kind)", ids)
    assert {*kinds} == {*empty.run("return Object.values(Playground.WORLDS).map(({ kind }) => kind)")}
    for id in dict(zip(kinds, ids, strict=True)).values():
        trained(opened(empty, f"playground.html#world={id}&a=&agents=1&steps=6000"))
        time.sleep(0.2)
        assert not empty.ask("blank", ".play-stage canvas"), id
        assert empty.complaints() == []


def test_no_worker_outlives_its_setting_or_its_page(browser: Browser) -> None:
    browser.driver.execute_cdp_cmd("Page.enable", {})
    added = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": COUNT_WORKERS})
    try:
        opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse")
        for _ in range(3):
            browser.ask("press", "restart")
        assert 1 <= browser.run("return born - gone") <= browser.run("return navigator.hardwareConcurrency")
        for trick in ("clip", "entropy"):
            flip(browser, trick)
        assert browser.run("return born - gone") <= 2 * browser.run("return navigator.hardwareConcurrency")
        both_trained(browser)
        browser.run(f"document.querySelector('{RATES_BUTTON}').click()")
        assert browser.run("return born - gone") >= 1
        browser.run(f"document.querySelector('{RATES_BUTTON}').click()")  # stop
        assert browser.run("return born - gone") == 0
        browser.run(f"document.querySelector('{RATES_BUTTON}').click()")
        browser.ask("press", "train again")
        browser.run("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
        assert browser.run("return born - gone") == 0
        browser.run("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
        assert trained(browser)["reached"] == [100] and browser.run("return born - gone") == 0
        assert browser.complaints() == []
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


@pytest.mark.parametrize("page", ["playground.html", "index.html"])
def test_it_fits_a_phone_and_is_dark_in_the_dark_and_nothing_jumps(page: str, browser: Browser) -> None:
    with browser.sized(400):
        opened(browser, f"{page}#{CORRIDOR}&a=baseline,reuse&b=baseline")
        places = "return [...document.querySelectorAll('.play-agents > *, .play-left *')].map((each) => each.offsetTop)"
        before = browser.run(places)
        assert browser.run("return document.documentElement.scrollWidth") <= 400
        trained(browser)
        assert browser.run(places) == before
        browser.run("document.documentElement.dataset.theme = 'dark'")
        ink = "return getComputedStyle(document.querySelector('.play-verdict')).color.match(/\\d+/g).map(Number)"
        assert min(browser.run(ink)[:3]) > 150


def test_on_a_phone_the_curve_stays_in_sight_and_everything_is_large_enough_and_named(browser: Browser) -> None:
    with browser.sized(420):
        opened(browser, f"playground.html#{CORRIDOR}&a=baseline&b=baseline,reuse")
        bottom = "return document.querySelector('input[name=lr]').getBoundingClientRect().bottom + scrollY"
        assert browser.run(bottom) < 800
        for place in (".play-beyond", ".play-switch"):
            top, under, switch, header = browser.ask("pictureBeside", place)
            assert header - 1 <= top < under <= switch
        browser.run(f"document.querySelector('{RATES_BUTTON}').click()")
        assert browser.ask("unusable") == []


def test_a_trick_is_described_without_a_pointer_that_hovers(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline")
    browser.run("document.querySelector('input[name=gae]').focus()")
    assert browser.text(".play-tells").startswith("gae: ")
    with browser.sized(420):
        browser.run("document.querySelector('[aria-label=\"what clip is\"]').click()")
        assert browser.text(".play-tells").startswith("clip: ")
        assert browser.run(HASH).endswith("a=baseline")  # nothing was switched


@pytest.mark.parametrize("width", [1280, 1440])
def test_every_line_of_the_loop_is_seen_whole_beside_the_switches(width: int, browser: Browser) -> None:
    with browser.sized(width):
        opened(browser, f"playground.html#{CORRIDOR}&a={','.join(offered())}")
        shown, whole, tallest, size = browser.ask("extent")
    assert whole <= shown
    assert tallest < 2 * size
    assert size >= 9.6  # pixels


def test_what_is_said_of_the_agents_moves_nothing(browser: Browser) -> None:
    range_ = "now − before over the whole run is −0.0571 (95%: −0.1400 to −0.0034)"
    long = f"It was better before: {range_}. 10 diverged: a number was no longer finite."
    one = "30 agents, mean return over the whole run: −0.0571 (95%: −0.1400 to −0.0034)."
    lone = "The best got −0.0029, the worst −0.1500. Had you trained seed 10 alone, you'd report −0.0712."
    opened(browser, TWO)
    trained(browser)
    for width in (400, 1280, 1440):
        with browser.sized(width):
            nothing = browser.ask("say", "", "")
            ahead = "Seed 10 alone says −0.0571. Seed by seed, B is ahead in 10 of 30."
            assert browser.ask("say", long, ahead) == browser.ask("say", one, lone) == nothing


PLACE = r'class="train-here[^>]*data-setting="([^"]*)"'


def clicked(browser: Browser, selector: str = "#tried", seconds: float = 60) -> dict[str, Any]:
    """What a small playground tells at its end, after a click on its button."""
    browser.run("document.querySelector(`${arguments[0]} .play-main`).click()", selector)
    return trained(browser, selector, seconds)


@pytest.mark.parametrize("name", names())
def test_a_chapter_has_its_small_playground_before_its_exercises_and_others_further_on(name: str, site: Path) -> None:
    page = (site / "chapters" / f"{name}.html").read_text(encoding="utf-8")
    places = {unescape(each[1]): each.start() for each in re.finditer(PLACE, page)}
    here = {each: HERE[each].setting for each in HERE if home(each) == name[3:]}
    assert set(places) == {*here.values()} and page.count("playground-page.js") == (1 if here else 0)
    for each, setting in here.items():
        assert (places[setting] < page.index('id="exercises"')) == (each == name[3:])
        if each != name[3:]:
            assert page.index('id="going-further"') < places[setting] < page.index("<strong>Question.</strong>")


def test_every_small_playground_trains_to_its_end_with_new_seeds_and_says_that_a_worker_fails(empty: Browser) -> None:
    for here in HERE.values():
        short = re.sub(r"steps=\d+", "steps=1000", here.setting).replace("&agents=30", "") + "&agents=2"
        empty.ask("put", short)
        first = clicked(empty)
        assert first["points"] == 100 and ("verdict" in first) == bool(here.adds)
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
    assert browser.texts(LEGEND) == ["A: without segments", "B: with segments"]


@pytest.mark.slow
@pytest.mark.parametrize("name", HERE)
def test_most_starts_show_what_the_text_says(empty: Browser, name: str) -> None:
    here = HERE[name]
    empty.ask("put", here.setting)
    told = [clicked(empty, seconds=600) for _ in range(10)]
    held = [each["verdict"] == here.verdict if here.adds else max(x := each["late"]) >= 2 * min(x) for each in told]
    assert sum(held) >= here.least


def lines_lit(browser: Browser) -> list[str]:
    return [line.strip() for line in browser.texts(".play-swapped")]


def test_an_objective_that_is_written_trains_against_the_clip_and_a_link_carries_it(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse,clip")
    browser.run("document.querySelector('.play-own summary').click()")
    ready = "return !document.querySelector('.play-own .play-main').disabled"
    browser.ask("set", ".play-own textarea", "ration * advantage")
    said = "`ration` is not a name here: ratio, log_ratio, advantage, eps."
    assert browser.text(".play-own-says") == said and not browser.run(ready)
    browser.ask("set", ".play-own textarea", "sign(advantage)")
    assert browser.text(".play-own-says") == "It is flat: nothing would be learned." and browser.run(ready)
    objective = "ratio * advantage - (ratio - 1)^2 / eps"
    browser.ask("set", ".play-own textarea", objective)
    assert browser.text(".play-own-says") == ""
    browser.ask("press", "Train 5 agents against the clip")
    assert browser.texts(".play-legend span") == ["A: the clip", "B: own line"]
    assert lines_lit(browser) == [f"objective = {objective}"]
    first, link = trained(browser), browser.run(HASH)
    assert first["having"] != first["without"]
    opened(browser, f"playground.html{link}")
    assert trained(browser) == first and lines_lit(browser) == [f"objective = {objective}"]
    assert browser.run("return document.querySelector('.play-own textarea').value") == objective
    flip(browser, "clip")
    assert "objective" not in browser.run(HASH)  # its line is gone
    assert browser.complaints() == []


def test_an_advantage_that_is_written_trains_against_the_standardized_one(browser: Browser) -> None:
    opened(browser, f"playground.html#{CORRIDOR}&a=baseline,reuse,clip")
    browser.run("document.querySelector('.play-own summary').click()")
    browser.ask("set", ".play-own-advantage textarea", "0 * advantage")
    assert browser.text(".play-own-advantage .play-own-says") == "It is 0: nothing would be learned."
    browser.ask("set", ".play-own-advantage textarea", "sign(advantage - mean)")
    browser.ask("press", "Train 5 agents against the standardized one")
    assert browser.texts(LEGEND) == ["A: standardized", "B: own advantage"]
    assert lines_lit(browser) == ["advantage = sign(advantage - mean)"]
    assert "a=baseline,reuse,clip,advantage_norm&" in browser.run(HASH) and "b.advantage=sign" in browser.run(HASH)
    browser.ask("press", "Train 5 agents against the clip")  # with the advantage, which stays
    assert browser.texts(LEGEND)[-2:] == ["A: the clip, standardized", "B: own line, own advantage"]
    flip(browser, "advantage_norm")
    assert "advantage=" not in browser.run(HASH) and "b.objective=" in browser.run(HASH)
    assert browser.complaints() == []


def test_presets_are_the_functions_that_they_are_named_after(empty: Browser) -> None:
    ratio = torch.tensor([0.3, 0.8, 0.9, 1.0, 1.1, 1.2, 2.0, 3.0, 3.5], dtype=torch.float64).repeat(2).unsqueeze(0)
    advantage = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat_interleave(9).unsqueeze(0)
    epsilon = torch.tensor([0.2], dtype=torch.float64)
    clip, held = clipped_surrogate(ratio, advantage, epsilon), ratio.clamp(0.8, 1.2)
    theirs = {
        "naive": ratio.log() * advantage,  # the gradient of log π·A
        "ratio": ratio * advantage,
        "clip": clip,
        "dual clip": bounded_below(clip, advantage, 3.0),
        "rollback": torch.minimum(ratio * advantage, (1.3 * held - 0.3 * ratio) * advantage),
        "min left out": held * advantage,
    }
    columns = "Float64Array.from(arguments[0]), Float64Array.from(arguments[1]), 0.2"
    mine = "Object.entries(Book.playground.PRESETS).map(([name, text]) => [name, [...Playground.writtenObjective(text)"
    found = empty.run(f"return {mine}({columns}).value]])", ratio[0].tolist(), advantage[0].tolist())
    assert [name for name, _ in found] == [*theirs]
    for name, values in found:
        assert values == pytest.approx(theirs[name][0].tolist(), abs=1e-12), name


def fault_names(browser: Browser) -> dict[str, str]:
    return dict(browser.run("return Object.entries(Book.playground.WORDS).map(([fault, { name }]) => [fault, name])"))


def test_a_fault_to_be_guessed_is_hidden_until_then_and_its_line_is_lit_up(browser: Browser) -> None:
    opened(browser, "playground.html#guess=random&steps=1000&agents=1")
    link = browser.run(HASH)
    assert re.search(r"&guess=\d+&", link) and "fault" not in link
    assert lines_lit(browser) == [] and browser.texts(".play-legend span") == ["A: sound", "B: one line is wrong"]
    names, choices = fault_names(browser), browser.texts(".play-riddle button")
    assert len({*choices}) == 3 and {*choices} <= {*names.values()}
    browser.ask("press", choices[0])
    (fault,) = re.findall(r"&b\.fault=(\w+)", browser.run(HASH))
    answer = "Right" if choices[0] == names[fault] else "No"
    assert browser.text(".play-riddle p").startswith(f"{answer}: {names[fault]}.") and lines_lit(browser)
    browser.ask("press", "another one")
    assert "&guess=" in browser.run(HASH) and lines_lit(browser) == []
    assert browser.complaints() == []


def test_every_fault_has_a_line_in_the_loop_and_the_chapter_s_name(empty: Browser) -> None:
    names, chapter = fault_names(empty), (ROOT / "chapters/27_reading_the_diagnostics.py").read_text()
    assert [*names] == [*FAULTS]
    for fault, name in names.items():
        assert f"- **{name}" in chapter
        opened(empty, f"playground.html#steps=1000&agents=1&a={','.join(PPO.on)}&a.fault={fault}")
        assert lines_lit(empty) and empty.text(".play-riddle p").startswith(f"{name}. ")
    riddles = empty.run("return Array.from({ length: 300 }, (_, number) => Book.playground.riddle(number))")
    places = [riddle["choices"].index(riddle["fault"]) for riddle in riddles]
    assert {len({*riddle["choices"]}) for riddle in riddles} == {3}
    assert min(np.bincount([[*names].index(riddle["fault"]) for riddle in riddles], minlength=5)) > 30  # of 60
    assert min(np.bincount(places, minlength=3)) > 60  # of 100


def test_two_chapters_lead_to_the_riddle_and_to_a_line_of_one_s_own(browser: Browser) -> None:
    leads = {"27_reading_the_diagnostics": ".play-riddle button + button", "28_your_own_trick": ".play-swapped"}
    for name, selector in leads.items():
        browser.open(f"chapters/{name}.html")
        link = browser.run("return document.querySelector('a[href*=\"playground.html#\"]').href")
        opened(browser, link.removeprefix(f"{browser.folder.as_uri()}/"))
        assert browser.texts(selector) and browser.run("return document.querySelector('.play-problem').hidden")


def moved(browser: Browser, chapter: str, name: str, *values: float) -> dict[str, Any]:
    """What a mechanism tells after its sliders were moved to these values."""
    browser.open(f"chapters/{chapter}.html")
    told: dict[str, Any] = browser.ask("moved", name, values)
    assert browser.complaints() == []
    return told


@pytest.mark.parametrize("b", [92.0, 102.3, 110.0])
def test_the_spread_of_a_gradient_is_that_of_all_that_can_be_drawn(browser: Browser, b: float) -> None:
    pays = torch.tensor([101.0, 102.0, 104.0], dtype=torch.float64)
    theta = torch.zeros(3, dtype=torch.float64)
    score = torch.autograd.functional.jacobian(lambda t: t.log_softmax(0), theta)  # a row per machine
    samples = torch.cat([(pays + luck - b).unsqueeze(1) * score for luck in (-1.0, 1.0)])  # a noise with variance 1
    told = moved(browser, "01_baseline", "baseline", b)
    assert told["deviation"] == pytest.approx(samples.var(0, correction=0).sum().sqrt().item(), abs=1e-9)
    assert told["gradient"] == pytest.approx(samples.mean(0).tolist(), abs=1e-9)


@pytest.mark.parametrize(("lam", "off"), [(0.0, 2.0), (0.6, 3.5), (0.95, 2.0), (1.0, 5.0)])
def test_bias_and_variance_follow_from_the_weights_that_gae_gives(browser: Browser, lam: float, off: float) -> None:
    cells = 30
    unit = torch.eye(cells, dtype=torch.float64).unsqueeze(2)  # one reward, or the V of one cell, is 1: [cells, T, 1]
    last = torch.zeros(cells, cells, 1, dtype=torch.bool)
    last[:, -1] = True
    nothing = torch.zeros_like(unit)
    after = torch.cat([unit[:, 1:], nothing[:, :1]], 1)  # V of the next cell, 0 behind the last one
    of_reward = gae(unit, nothing, nothing, last, last, 1.0, lam)[:, 0, 0]
    of_value = (gae(nothing, unit, after, last, last, 1.0, lam) + unit)[:, 0, 0]
    told = moved(browser, "04_gae", "gae", lam, off)
    assert told["variance"] == pytest.approx(of_reward.square().sum().item(), abs=1e-9)
    assert told["bias"] == pytest.approx(off**2 * of_value.square().sum().item(), abs=1e-9)


def test_the_ratios_are_those_of_a_real_run(browser: Browser) -> None:
    stored = json.loads((FOLDER / "ratios.json").read_text())
    batch = Config(seeds=1, steps=4000, lr=0.003, epochs=10, clip_range=0.1)
    found = shares_by_epoch({"0.1": ratios_by_epoch(batch, named("clip"), update=2)})
    k = stored["ranges"].index("0.1")
    assert np.allclose(stored["outside"][k][:3], found["outside"][0][:3], atol=0.02)  # later epochs differ by machine
    told = moved(browser, "03_clip", "ratios", k, 2)
    assert (told["outside"], told["largest"]) == (stored["outside"][k][1], stored["largest"][k][1])
    told = moved(browser, "02_reuse", "ratios", 0, 10)
    assert told["range"] == "none" and told["outside"] == stored["outside"][0][9]


def test_a_fresh_policy_is_paid_as_often_as_its_chances_say(browser: Browser) -> None:
    gain, nets, cells = 0.1, 30, 2 * REACH + 1
    net = mlp([stream(seed, "init") for seed in range(nets)], (2, 32, 32, 2))
    orthogonal_(net, tuple(range(nets)), 0, gain=2**0.5, head_gain=gain)
    place = torch.arange(-REACH, REACH + 1.0)
    states = torch.stack([torch.stack([place, torch.full_like(place, touched)], -1) for touched in (0, 1)])
    with torch.no_grad():
        logits = net(observe(states).flatten(0, 1).expand(nets, -1, -1)).double()
    right = logits.softmax(-1)[..., 1].unflatten(1, (2, cells)).numpy()  # [nets, touched, cells]
    told = moved(browser, "05_orthogonal_init", "walk", np.log10(gain))
    assert told["mean"] == pytest.approx(np.mean([chance_to_be_paid(each) for each in right]), abs=1e-3)


def chance_to_be_paid(right: np.ndarray) -> float:
    """The left end, then the right end, within 1000 steps: by the powers of the walk's matrix. right [2, cells]."""
    cells = right.shape[1]
    walk = np.zeros((2 * cells + 1, 2 * cells + 1))
    walk[-1, -1] = 1
    for here, chance in enumerate(right.flatten()):
        touched, cell = divmod(here, cells)
        low, high = max(0, cell - 1), min(cells - 1, cell + 1)
        walk[here, (1 if low == 0 else touched) * cells + low] += 1 - chance
        paid = touched and high == cells - 1
        walk[here, -1 if paid else touched * cells + high] += chance
    return float(np.linalg.matrix_power(walk, 1000)[cells // 2, -1])


@pytest.mark.parametrize(("mean", "spread"), [(40.0, 8.0), (-20.0, 0.5), (10.0, 2.0)])
def test_the_ruler_moves_as_the_library_moves_it(browser: Browser, mean: float, spread: float) -> None:
    head = mlp([stream(0, "init")], (1, 1), exact=True)
    weight, bias = head.layers[-1]
    weight.data.fill_(3.0)
    bias.data.fill_(1.0)
    pairs = torch.tensor([[10.0, 2.0], [mean, spread]], dtype=torch.float64)
    old, new = (ReturnStats(m.unsqueeze(0), s.unsqueeze(0) ** 2) for m, s in pairs)
    h = torch.tensor([[[-1.5], [1.5]]])
    before, alone = denormalize(head(h), old), denormalize(head(h), new)
    preserve_outputs_(head, old, new)
    told = moved(browser, "12_popart", "popart", mean, spread)
    assert (told["weight"], told["bias"]) == pytest.approx((weight.item(), bias.item()), rel=1e-6)
    assert told["most"] == pytest.approx((alone - before).abs().max().item(), rel=1e-6) and told["kept"] < 1e-9


@pytest.mark.parametrize("alpha", [0.5, 0.02])
def test_a_step_size_ends_as_far_off_as_mean_and_variance_say(browser: Browser, alpha: float) -> None:
    told = moved(browser, "16_annealing", "annealing", np.log10(alpha))
    assert told["alpha"] == pytest.approx(alpha, rel=0.03)  # the slider has steps
    constant = torch.full((200,), told["alpha"], dtype=torch.float64)
    for name, rates in (("constant", constant), ("falling", linear_decay(constant, torch.arange(200).double() / 200))):
        left = (1 - rates).flip(0).cumprod(0)  # of what there was before the last one, two, ... steps
        after = torch.cat([torch.ones(1, dtype=torch.float64), left[:-1]]).flip(0)
        mean_squared = (10 * left[-1]) ** 2 + (rates * after).square().sum()
        assert told[name] == pytest.approx(mean_squared.item(), rel=1e-6)


def test_the_leash_is_what_the_chapter_found(browser: Browser) -> None:
    stored = json.loads((FOLDER / "leash.json").read_text())
    told = [moved(browser, "18_ppg", "leash", k) for k in range(len(stored["betas"]))]
    assert [each["kl"] for each in told] == stored["kl"] and told[0]["kl"] > 100 * told[2]["kl"]
    assert told[2]["explained"] > 0.9


def test_numbers_are_kept_only_while_chapters_are_built(monkeypatch: Patch) -> None:
    before = sorted(FOLDER.iterdir())
    monkeypatch.delenv("BOOK_BUILDING", raising=False)
    store("nothing", {"a": 1})
    assert sorted(FOLDER.iterdir()) == before
    assert rounded({1: [0.123456, 2], "x": (3.0,)}) == {"1": [0.1235, 2], "x": [3.0]}


HARD = {  # every door, every dead store, what excludes another, what nothing needs
    "nothing": REINFORCE,
    "everything": EVERY,
    "ppg with buffers": switched([*PPG.on, "ppg_buffers", "state_norm", "return_norm", "popart", "kl_stop"]),
    "a mask and segments": switched(["action_mask", "baseline", "segments", "state_norm"]),
    "values without gae": switched(["baseline", "return_norm", "popart", "bootstrap", "value_clip", "reuse"]),
}


@pytest.fixture(scope="module")
def atlas(browser: Browser) -> Browser:
    browser.open("atlas.html")
    browser.wait_for("#atlas input")
    return browser


def chosen(atlas: Browser, *names: str) -> dict[str, Any]:
    """What the atlas shows for these flags."""
    told: dict[str, Any] = atlas.ask("arm", names)
    assert atlas.complaints() == []
    return told


@pytest.mark.parametrize("tricks", HARD.values(), ids=list(HARD))
def test_the_loop_and_the_command_are_those_of_the_library(atlas: Browser, tricks: Tricks) -> None:
    told = chosen(atlas, *tricks.on)
    assert told["code"].splitlines() == body(tricks)
    assert parse(shlex.split(told["command"]), "train", Config)[0] == tricks


def test_a_choice_that_cannot_be_says_what_is_missing_and_mends_itself(atlas: Browser) -> None:
    told = chosen(atlas, "popart", "clip")
    assert told["faults"] == ["clip needs reuse", "popart needs return_norm"]
    refusal(r"clip needs .*reuse.*popart needs .*return_norm", switched, ["popart", "clip"])
    atlas.run("document.querySelectorAll('.atlas-fault button')[1].click()")
    left = json.loads(atlas.run("return document.getElementById('atlas').dataset.told"))
    assert left["faults"] == ["clip needs reuse"]


def test_an_arm_is_shown_with_its_stored_interval_of_the_first_study_that_has_it(atlas: Browser, site: Path) -> None:
    kept, clip = studies()[0], named("clip")
    told = chosen(atlas, *clip.on)
    assert told["area"][0] == pytest.approx(area(kept.grid(clip)).mean(), rel=1e-3)
    assert told["area"][1] < told["area"][0] < told["area"][2]
    assert told["said"].startswith(f"{kept.env}, {len(kept.of(clip))} seeds at learning rate ")
    told = chosen(atlas, "state_norm", "entropy", "orthogonal_init")
    assert told["said"] == "No runs with exactly these flags are stored. The command above makes them."
    assert (site / "_static" / "atlas-data.js").stat().st_size < 3_000_000
    first, second = study(ladder(["baseline"]), lambda on: 0), study(ladder(["baseline", "entropy"]), lambda on: 500)
    shown = environment_data([first, second])["arms"]
    assert {name: arm["area"][0] for name, arm in shown.items()} == {"": 135, "baseline": 135, "baseline entropy": 635}


def test_the_atlas_shows_what_is_stored_of_a_trick(atlas: Browser) -> None:
    for name in ("baseline", "clip", "clip_anneal", "ppg"):
        button = "[...document.querySelectorAll('.atlas-matrix button')].find(x => x.textContent == arguments[0])"
        atlas.run(f"{button}.click()", name)
        said = atlas.text(".atlas-card p")
        assert in_short(evidence(name)) in said
        line = "[...document.querySelectorAll('.atlas-matrix tr')].find(x => x.textContent.startsWith(arguments[0]))"
        columns = "[...document.querySelectorAll('.atlas-matrix thead')][0].querySelectorAll('span')"
        envs = atlas.run(f"return [...{columns}].map(x => x.title)")
        shown_in = f"[...{line}.querySelectorAll('td')].slice(1)"
        cells = atlas.run(f"return {shown_in}.map(x => [x.className, x.textContent])", name)
        shown = {(env, seen, said) for env, (seen, said) in zip(envs, cells, strict=True) if said}
        stored = {(row["env"], f"seen-{row['seen']}", signed(row["difference"])) for row in effects_data(name)}
        assert shown and shown <= stored
    assert atlas.complaints() == []


def signed(x: float) -> str:
    return "0" if abs(x) < 0.005 else f"{x:+.2f}".replace("-", "−")


def test_a_card_has_the_effect_at_each_rate_and_in_general(atlas: Browser) -> None:
    atlas.run("[...document.querySelectorAll('.atlas-matrix button')].find(x => x.textContent == 'clip').click()")
    cells = [text for text in atlas.texts(".atlas-card td") if re.fullmatch(r"0|[+−]\d\.\d\d", text)]
    designs = [next(design for design in each.designs if design.name == "ladder") for each in studies()]
    rows = pd.concat([effects_by_rate(*pair) for pair in zip(studies(), designs, strict=True)])
    rows = rows[rows.trick.eq("clip") & ~rows["at"].isin([OVER_ALL, AT_BEST])]
    assert cells == [signed(x) for x in rows.difference]
    means = in_general(studies(), "ladder").query("label == '+ clip'")["mean"]
    assert [row.split(": ")[1].split(" ")[0] for row in atlas.texts(".atlas-card li")[:2]] == [*map(signed, means)]


def test_in_short_what_was_compared_and_how_sure_it_is_stands_beside_what_was_seen() -> None:
    rows = [
        ("A", "helps", 1, "alone, on REINFORCE", ""),
        ("B", "hurts, but not again", 0, "alone, on REINFORCE", ""),
        ("C", "hurts", np.nan, "alone, on gae", "fixed"),
        ("D", "unknown", np.nan, "as the next rung", ""),
        ("E", "practically nothing", np.nan, "taken out of everything, with x, y, z", ""),
        ("A", "hurts", 1, "taken out of everything, with x, y", ""),
    ]
    table = pd.DataFrame(rows, columns=["env", "verdict", "confirmed", "question", "tuned"]).assign(subject="ladder")
    said = "Helps alone in A. Hurts alone (on gae; at one rate; once) in C; in the full set (with x, y) in A. "
    said += "Practically nothing in the full set (with 3 others) in E. In 2 of 5 environments, these runs can't tell."
    assert in_short(Evidence("clip", table, pd.DataFrame())) == said
    trials = pd.DataFrame({"verdict": ["helps", "practically nothing"], "outcome": "as predicted"})
    said = "Not tried in the usual environments. It helps in 1 of 2 trials in worlds made for it"
    assert in_short(Evidence("clip", table.iloc[:0], trials)) == f"{said}, as predicted."
    trials.loc[0, "outcome"] = "nothing detected"
    assert in_short(Evidence("clip", table.iloc[:0], trials)) == f"{said}."


def test_a_picture_shows_every_fifth_point_and_only_what_was_not_refuted_is_colored() -> None:
    made = study(ladder(["baseline"]), lambda on: 0)
    rising = made.runs.assign(**{name: made.runs.seed + float(name[:-1]) for name in SHARES})  # seeds 0 to 7
    mean, low, high = arm_data(replace(made, runs=rising), REINFORCE)["curve"]
    assert mean == [3.5 + share for share in range(5, 101, 5)]
    assert all(x < y < z for x, y, z in zip(low, mean, high, strict=True))
    shown = [row for name in NEEDS for row in effects_data(name)]
    refuted = [row for row in shown if row["verdict"].endswith("but not again")]
    assert refuted and {row["seen"] for row in refuted} == {"unknown"}
    colored = {"helps": "helps", "hurts": "hurts", "practically nothing": "nothing"}
    assert all(row["seen"] == colored.get(row["verdict"], "unknown") for row in shown)


def test_a_tree_splits_the_samples_and_the_stored_lines_are_of_sets_not_learned_from() -> None:
    stored = read()  # else run `python -m chapters lines`
    for tricks in legal_sets(15, seed=2):
        assert resolved(stored, tricks) == body(tricks)
    flags = np.array([[a, b, False] for a in (False, True) for b in (False, True)])
    assert tree(flags, flags[:, 1]) == ["reuse", False, True]
    assert tree(flags, flags[:, 0] & ~flags[:, 1]) == ["baseline", False, ["reuse", True, False]]
    assert tree(flags, np.ones(4, dtype=bool)) is True


STEPS = {name: (before, after) for name, before, after in steps()}


@pytest.mark.parametrize("name", ["reinforce", "gae", "segments", "ppg_buffers"])
def test_a_rung_is_the_listing_and_its_changes_are_those_of_diff(name: str) -> None:
    assert [*STEPS] == ["reinforce", *NEEDS]
    before, after = STEPS[name]
    shown = lines(before, after)
    assert [line.text for line in shown if line.kind != "gone"] == body(after)
    changed = [f"{'+' if line.kind == 'new' else '-'}{line.text}" for line in shown if line.kind != "same"]
    said = str(diff(before, after)).splitlines()
    assert sorted(changed) == sorted(x for x in said if x[:1] in "+-" and not x.startswith(("+++", "---")))


def test_the_shapes_are_those_of_the_comments_and_every_line_comes_from_a_trick() -> None:
    found = shapes(PPO)
    told = {text.strip(): found.get(n, "") for n, text in enumerate(str(listing(PPO)).splitlines(), 1)}
    line = next(text for text in told if text.endswith("# advantage [S, B]"))
    assert told[line] == "b.advantage [S, B], advantage [S, B]"
    assert told["loss = -mean(objective, b.valid)  # [S]"] == "objective [S, B], b.valid [S, B], loss [S]"
    assert told["dead = done & ~rollout.cut"] == "done [S, T, N], rollout.cut [S, T, N], dead [S, T, N]"
    shown = ["[S]", "[S, B]", "[S, T, N]", "[S, T, N, D]", "[S, B, A]", "[5, 5]"]  # the last is no stack of seeds
    assert [*map(in_letters, ((3,), (3, 35), (3, 5, 7), (3, 5, 7, 2), (3, 35, 14), (5, 5)))] == shown
    assert in_letters((3, 172), parameters=172) == "[S, P]"
    brought = [trick for _, trick in origins(LADDER[:4])]
    assert {*brought} == {"reinforce", *LADDER[:4]}
    assert brought.count("reinforce") < len(body(REINFORCE))  # some of its lines were replaced
