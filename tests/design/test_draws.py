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


def test_every_set_is_legal_and_a_flag_without_needs_is_a_coin() -> None:
    sets = [legal(np.random.default_rng(k), NAMES) for k in range(400)]
    share = {name: sum(getattr(tricks, name) for tricks in sets) / len(sets) for name in NAMES}
    free = [name for name in NAMES if not NEEDS[name] and not any(name in needs for needs in NEEDS.values())]
    assert all(0.4 < share[name] < 0.6 for name in free)
    assert all(share[name] > 0.1 for name in NAMES)


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
