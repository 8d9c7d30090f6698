"""Sessions of the playground: agents of a seed come out the same however they are spread, and messages are complete."""

from typing import Any

import pytest
from support.browsing import Browser

from chapters.book.site.playground import offered

SETTING = {"world": "CartPole-v1", "tricks": ["baseline", "reuse", "clip"], "numbers": {"steps": 4000}, "hidden": [8]}


def curves(engine: Browser, **setting: Any) -> dict[str, list[dict[str, Any]]]:
    """Each seed's rows."""
    found: dict[str, list[dict[str, Any]]] = engine.told("curvesOf(...arguments)", SETTING | setting)
    assert engine.complaints() == []
    return found


def test_an_agent_learns_the_same_alone_or_with_others_in_workers_or_not(engine: Browser) -> None:
    together = curves(engine, seeds=[3, 8, 5], workers=2)
    assert {seed: rows[-1]["active"] for seed, rows in together.items()} == {"3": False, "5": False, "8": False}
    assert together["3"] != together["5"] != together["8"] != together["3"]
    for seed in (3, 5, 8):
        assert curves(engine, seeds=[seed], workers=0) == {str(seed): together[str(seed)]}


def test_a_trick_that_changes_nothing_shifts_no_random_numbers(engine: Browser) -> None:
    same: dict[str, Any] = {"seeds": [3], "numbers": {"steps": 4000, "max_grad_norm": 1e9}}
    assert curves(engine, **same, tricks=["baseline", "reuse", "clip", "grad_clip"]) == curves(engine, **same)


@pytest.mark.parametrize("workers", [0, 2])
def test_paused_it_takes_one_update_at_a_time(engine: Browser, workers: int) -> None:
    assert engine.told("stepped(...arguments)", SETTING | {"seeds": 2, "workers": workers}) == [0, 2, 4]


def test_the_watched_agent_shows_its_lane_its_ratios_and_its_lines(engine: Browser) -> None:
    found = engine.told("watched(...arguments)", SETTING | {"seeds": 2, "workers": 2})
    agent, states, actions, first, ratios, size, phases = found
    assert (agent, first, size) == (1, 0, 4)
    assert states == actions > 100
    assert 8 * 128 / 4 <= ratios < 2 * 8 * 128 / 4
    assert phases[:2] == [["play_episodes", 0, None], ["values", 0, states]]
    assert [k for phase, k, _ in phases if phase == "clipped_surrogate"] == list(range(1, 17))


def test_memory_stays_flat(engine: Browser) -> None:
    """Of what all flags need, nothing is left behind by an update but a row, which the page gets."""
    numbers = {"steps": 1e9, "lanes": 2, "horizon": 16, "epochs": 1, "target_kl": 10}
    setting = SETTING | {"tricks": offered(), "numbers": numbers, "seeds": 2, "workers": 0}
    engine.run("begun(arguments[0])", setting)
    sizes = []  # bytes, once everything is compiled and later
    for count in (1000, 3000):
        engine.told("after(...arguments)", count)
        engine.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        used = engine.driver.execute_cdp_cmd("Runtime.getHeapUsage", {})
        sizes.append(used["usedSize"] + used.get("backingStorageSize", 0))
    engine.run("run.stop()")
    assert sizes[1] - sizes[0] < 250_000  # one number for each row of experience would be 500,000


def test_an_impossible_setting_says_what_is_missing(engine: Browser) -> None:
    make = "return fault(() => new Playground.Session(arguments[0]))"
    close = "return fault(() => Playground.closed(arguments[0]).join())"
    faults: dict[str, dict[str, Any]] = {
        "clip needs reuse; popart needs return_norm": {"tricks": ["clip", "popart"]},
        f"unknown trick magic; there are {', '.join(offered())}": {"tricks": ["magic"]},
        "unknown world Chess; ": {"world": "Chess"},
        "unknown number learning_rate; ": {"numbers": {"learning_rate": 1}},
    }
    for said, given in faults.items():
        assert engine.run(make, SETTING | given).startswith(said)
    assert engine.run(close, ["magic"]).startswith("unknown trick magic; ")
    assert engine.run(close, ["popart", "clip"]) == "baseline,reuse,clip,return_norm,popart"
