"""The explorer shows the library's own loop, faults and commands, and the stored arms, for any set of flags."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.browsing import Browser
from support.studies import study

from ablations import area
from ablations.analysis.studies import SHARES
from ablations.design.designs import ladder
from chapters.book.lines import legal_sets, read, resolved, tree
from chapters.book.results import studies
from chapters.book.site.explorer import arm_data, effects_data, environment_data
from chapters.book.site.growing import body
from tricks import EVERY, PPG, REINFORCE, Config, InputError, Tricks
from tricks.cli.shell import parse
from tricks.ladder import NEEDS, named, switched

HARD = {  # every door, every dead store, what excludes another, what nothing needs
    "nothing": REINFORCE,
    "everything": EVERY,
    "ppg with buffers": switched([*PPG.on, "ppg_buffers", "state_norm", "return_norm", "popart", "kl_stop"]),
    "a mask and segments": switched(["action_mask", "baseline", "segments", "state_norm"]),
    "values without gae": switched(["baseline", "return_norm", "popart", "bootstrap", "value_clip", "reuse"]),
}


@pytest.fixture(scope="module")
def explorer(browser: Browser) -> Browser:
    browser.open("explorer.html")
    browser.wait_for("#explorer input")
    return browser


def chosen(explorer: Browser, *names: str) -> dict[str, Any]:
    """What the explorer shows for these flags."""
    told: dict[str, Any] = explorer.ask("explored", names)
    assert explorer.complaints() == []
    return told


@pytest.mark.parametrize("tricks", HARD.values(), ids=list(HARD))
def test_the_loop_and_the_command_are_those_of_the_library(explorer: Browser, tricks: Tricks) -> None:
    told = chosen(explorer, *tricks.on)
    assert told["code"].splitlines() == body(tricks)
    assert parse(shlex.split(told["command"]), "train", Config)[0] == tricks


def test_a_choice_that_cannot_be_says_what_is_missing_and_mends_itself(explorer: Browser) -> None:
    told = chosen(explorer, "popart", "clip")
    assert told["faults"] == ["clip needs reuse", "popart needs return_norm"]
    with pytest.raises(InputError, match=r"clip needs .*reuse.*popart needs .*return_norm"):
        switched(["popart", "clip"])
    explorer.run("document.querySelectorAll('.explorer-fault button')[1].click()")
    left = json.loads(explorer.run("return document.getElementById('explorer').dataset.told"))
    assert left["faults"] == ["clip needs reuse"]


def test_an_arm_is_shown_with_its_stored_interval_or_said_to_be_stored_nowhere(explorer: Browser, site: Path) -> None:
    kept, clip = studies()[0], named("clip")
    told = chosen(explorer, *clip.on)
    assert told["area"][0] == pytest.approx(area(kept.grid(clip)).mean(), rel=1e-3)
    assert told["area"][1] < told["area"][0] < told["area"][2]
    assert told["said"].startswith(f"{kept.env}, {len(kept.of(clip))} seeds at learning rate ")
    told = chosen(explorer, "state_norm", "entropy", "orthogonal_init")
    assert told["said"] == "No runs with exactly these flags are stored. The command above makes them."
    assert (site / "_static" / "explorer-data.js").stat().st_size < 3_000_000


def test_a_picture_shows_every_fifth_point_of_a_curve_up_to_its_last() -> None:
    made = study(ladder(["baseline"]), lambda on: 0)
    rising = made.runs.assign(**{name: made.runs.seed + float(name[:-1]) for name in SHARES})  # seeds 0 to 7
    mean, low, high = arm_data(replace(made, runs=rising), REINFORCE)["curve"]
    assert mean == [3.5 + share for share in range(5, 101, 5)]
    assert all(x < y < z for x, y, z in zip(low, mean, high, strict=True))


def test_of_an_arm_that_two_studies_have_the_first_one_s_runs_are_shown() -> None:
    first, second = study(ladder(["baseline"]), lambda on: 0), study(ladder(["baseline", "entropy"]), lambda on: 500)
    shown = environment_data([first, second])["arms"]
    assert {name: arm["area"][0] for name, arm in shown.items()} == {"": 135, "baseline": 135, "baseline entropy": 635}


def test_the_stored_lines_are_those_of_sets_that_they_were_not_learned_from() -> None:
    stored = read()  # else run `python -m chapters lines`
    for tricks in legal_sets(15, seed=2):
        assert resolved(stored, tricks) == body(tricks)


def test_a_tree_is_the_question_that_splits_the_samples() -> None:
    flags = np.array([[a, b, False] for a in (False, True) for b in (False, True)])
    assert tree(flags, flags[:, 1]) == ["reuse", False, True]
    assert tree(flags, flags[:, 0] & ~flags[:, 1]) == ["baseline", False, ["reuse", True, False]]
    assert tree(flags, np.ones(4, dtype=bool)) is True


def test_only_what_was_not_refuted_on_other_seeds_is_blue_or_red() -> None:
    shown = [row for name in NEEDS for row in effects_data(name)]
    refuted = [row for row in shown if row["verdict"].endswith("but not again")]
    assert refuted
    assert {row["seen"] for row in refuted} == {"unknown"}
    colored = {"helps": "helps", "hurts": "hurts", "practically nothing": "nothing"}
    assert all(row["seen"] == colored.get(row["verdict"], "unknown") for row in shown)
