"""The random design: legal flags, numbers in their ranges, and the same draws whenever they are drawn."""

from collections.abc import Callable

import numpy as np
import pytest

from ablations.cli import main
from ablations.design.draws import PER_SET, RANGES, VALUES, WHOLE, drawn, legal
from tricks import Config
from tricks.ladder import LADDER, NEEDS

NAMES = [name for name in LADDER if name != "action_mask"]


def test_the_first_draws_are_the_same_however_many_are_drawn() -> None:
    few, many = list(drawn(Config(), NAMES, 3)), list(drawn(Config(), NAMES, 20))
    assert many[:3] == few
    assert len({each.tricks for each in many}) > 15
    seeds = [seed for each in many for seed in each.config.seed_list]
    assert seeds == list(range(20 * PER_SET))


def test_numbers_are_in_their_ranges_and_differ_within_a_stack() -> None:
    for each in drawn(Config(), NAMES, 20):
        for name, (low, high) in RANGES.items():
            values = each.config.each(name)
            assert all(0.99 * low <= value <= 1.01 * high for value in values)
            assert len(set(values)) > PER_SET // 2
        assert all(set(each.config.each(name)) <= set(values) for name, values in VALUES.items())
        assert all(getattr(each.config, name) in values for name, values in WHOLE.items())


def test_sets_differ_in_every_number_that_is_drawn_from_a_list() -> None:
    made = [each.config for each in drawn(Config(), NAMES, 60)]
    for name, values in WHOLE.items():
        counts = [sum(getattr(config, name) == value for config in made) for value in values]
        assert min(counts) > 60 / len(values) / 3, name
    for name, floats in VALUES.items():
        assert {value for config in made for value in config.each(name)} == set(floats)


def test_a_flag_whose_needs_are_on_is_on_in_two_of_three_sets() -> None:
    sets = [legal(np.random.default_rng(k), NAMES) for k in range(1000)]
    for name in NAMES:
        able = [tricks for tricks in sets if all(getattr(tricks, need) for need in NEEDS[name])]
        assert len(able) > 250
        assert 0.58 < sum(getattr(tricks, name) for tricks in able) / len(able) < 0.75


def test_what_the_named_flags_need_is_always_on() -> None:
    sets = [each.tricks for each in drawn(Config(), ["clip", "gae"], 30)]
    assert all(tricks.reuse and tricks.baseline for tricks in sets)
    assert {(tricks.clip, tricks.gae) for tricks in sets} == {(a, b) for a in (False, True) for b in (False, True)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--draws", "15"], "--draws must be a multiple of 10 from 20 to 1,000,000, not 15"),
        (["--draws", "0"], "--draws must be a multiple of 10"),
        (["--tricks", "glue"], "unknown trick glue"),
        (["--env", "Glue-v0"], "Glue"),
        (["--steps", "0"], "steps must be"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, refuses: Callable[..., None]) -> None:
    refuses(main, ["random", *arguments], message)
