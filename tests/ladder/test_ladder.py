"""The ladder: needs, presets, and that every flag has its file, its test, and its place in the loop."""

import re
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import pytest

import tricks
from tricks import EVERY, PPO, REINFORCE, InputError, Tricks
from tricks.ladder import FILES, LADDER, NEEDS, named, rungs, switched
from tricks.reading.ladder_table import table

LIBRARY = Path(tricks.__file__).parent


def test_an_unmet_need_names_both_flags() -> None:
    with pytest.raises(InputError, match="popart needs return_norm"):
        Tricks(baseline=True, popart=True)
    with pytest.raises(InputError, match="unknown trick magic"):
        switched(["magic"])


def test_flags_that_exclude_each_other_are_both_named() -> None:
    with pytest.raises(InputError, match="ppg cannot go with shared_trunk"):
        switched([*PPO.on, "ppg", "shared_trunk"])


@pytest.mark.parametrize("name", NEEDS)
def test_every_trick_has_a_file_that_names_it_and_a_test(name: str) -> None:
    assert (LIBRARY / f"{FILES[name]}.py").read_text().splitlines()[0].split(":")[0].find(name) > 0
    assert (Path(__file__).parent / f"test_{FILES[name]}.py").exists()


@pytest.mark.parametrize("name", NEEDS)
def test_every_flag_is_tested_bare_in_the_loop(name: str) -> None:
    loop = (LIBRARY / "loop.py").read_text()
    tests = re.findall(rf"^ *(?!from).*\btricks\.{name}\b.*$", loop, re.MULTILINE)
    # these act in several places: before the epochs and within them, or have something to set up
    times = {"baseline": 2, "reuse": 2, "ppg": 4, "ppg_buffers": 3}.get(name, 1)
    assert [test.split("#")[0].strip() for test in tests] == [f"if tricks.{name}:"] * times


def test_each_rung_adds_one_trick_and_the_last_is_every() -> None:
    ladder = rungs()
    assert ladder[0] == REINFORCE
    assert ladder[-1] == EVERY
    assert [set(b.on) - set(a.on) for a, b in pairwise(ladder)] == [{name} for name in LADDER]


def test_names_stand_for_presets_and_rungs() -> None:
    assert named("ppo") == PPO
    assert named("clip").on == ("baseline", "reuse", "clip")
    assert named("shared_trunk").on == (*PPO.on, "shared_trunk")
    assert named("ppg_buffers").on == (*PPO.on, "ppg", "ppg_buffers")
    with pytest.raises(InputError, match="unknown rung 'ppoo'"):
        named("ppoo")


def test_the_table_shows_every_flag_and_its_paper() -> None:
    assert all(f.name in table() and f.metadata["paper"] in table() for f in fields(Tricks))
