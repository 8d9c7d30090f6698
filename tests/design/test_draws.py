"""The random design: legal flags, numbers in their ranges, and the same draws whenever they are drawn; and grids, of
which every combination is trained, each agent with its numbers."""

from collections.abc import Callable

import numpy as np
import pytest

from ablations.cli import main
from ablations.design import grids
from ablations.design.draws import PER_SET, RANGES, VALUES, WHOLE, drawn, legal
from ablations.design.grids import SIDE_BY_SIDE, combinations, parse, stacks
from tricks import Config
from tricks.ladder import LADDER, NEEDS

NAMES = [name for name in LADDER if name != "action_mask"]


def test_the_first_draws_are_the_same_however_many_are_drawn_and_their_numbers_are_in_their_ranges() -> None:
    few, many = list(drawn(Config(), NAMES, 3)), list(drawn(Config(), NAMES, 20))
    assert many[:3] == few
    assert len({each.tricks for each in many}) > 15
    assert [seed for each in many for seed in each.config.seed_list] == list(range(20 * PER_SET))
    for each in many:
        for name, (low, high) in RANGES.items():
            values = each.config.each(name)
            assert all(0.99 * low <= value <= 1.01 * high for value in values)
            assert len(set(values)) > PER_SET // 2  # they differ within a stack
        assert all(set(each.config.each(name)) <= set(values) for name, values in VALUES.items())
        assert all(getattr(each.config, name) in values for name, values in WHOLE.items())


def test_sets_differ_in_every_number_that_is_drawn_from_a_list() -> None:
    made = [each.config for each in drawn(Config(), NAMES, 60)]
    for name, values in WHOLE.items():
        counts = [sum(getattr(config, name) == value for config in made) for value in values]
        assert min(counts) > 60 / len(values) / 3, name
    for name, floats in VALUES.items():
        assert {value for config in made for value in config.each(name)} == set(floats)


def test_a_flag_whose_needs_are_on_is_on_in_two_of_three_sets_and_what_the_named_flags_need_always() -> None:
    sets = [legal(np.random.default_rng(k), NAMES) for k in range(1000)]
    for name in NAMES:
        able = [tricks for tricks in sets if all(getattr(tricks, need) for need in NEEDS[name])]
        assert len(able) > 250
        assert 0.58 < sum(getattr(tricks, name) for tricks in able) / len(able) < 0.75
    sets = [each.tricks for each in drawn(Config(), ["clip", "gae"], 30)]
    assert all(tricks.reuse and tricks.baseline for tricks in sets)
    assert {(tricks.clip, tricks.gae) for tricks in sets} == {(a, b) for a in (False, True) for b in (False, True)}


def test_every_combination_is_in_one_stack_with_its_own_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = parse(["clip-range=0.1,0.2", "epochs=1,4"])
    assert grid == {"clip_range": (0.1, 0.2), "epochs": (1, 4)}
    assert [type(value) for value in grid["epochs"]] == [int, int]
    assert {"lr", "gamma", "clip_range", "entropy_coef", "gae_lambda"} <= set(SIDE_BY_SIDE)
    assert not {"epochs", "minibatches", "lanes"} & set(SIDE_BY_SIDE)  # which are whole
    monkeypatch.setattr(grids, "STACK", 6)
    grid = parse(["gamma=0.9,0.99", "epochs=1,4", "lr=0.001,0.01"])
    found = list(stacks(Config(), grid, seeds=3))
    assert [(stack.config.epochs, len(stack.cells)) for stack in found] == [(1, 6), (4, 6), (1, 6), (4, 6)]
    wanted = sorted((cell["epochs"], cell["gamma"], cell["lr"]) for cell in combinations(grid))
    assert sorted({tuple(cell.values()) for stack in found for cell in stack.cells}) == wanted
    for stack in found:
        for k, (cell, seed) in enumerate(zip(stack.cells, stack.config.seed_list, strict=True)):
            alone = stack.config.only(k)
            assert (cell, (seed,)) == ({name: getattr(alone, name) for name in cell}, alone.seeds)
    seeds = [stack.config.seed_list for stack in found if stack.config.epochs == 1]
    assert sum(seeds, ()) == tuple(range(12))


TUNED = "--rung baseline+separate_optimizers --vary"
BUFFERS = "value_epochs has no effect with ppg_buffers, which have value_uses instead"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("random --draws 15", "--draws must be a multiple of 10 from 20 to 1,000,000, not 15"),
        ("random --draws 0", "--draws must be a multiple of 10"),
        ("random --tricks glue", "unknown trick glue"),
        ("random --env Glue-v0", "Glue"),
        ("random --steps 0", "steps must be"),
        ("sweep", "--vary is missing"),
        ("sweep --vary glue=1", "--vary has no number 'glue'; it has "),
        ("sweep --vary seeds=1,2", "--vary has no number 'seeds'"),
        ("sweep --vary gamma=x", "--vary needs values such as gamma=1,2, not 'gamma=x'"),
        ("sweep --vary gamma", "--vary needs values such as gamma=1,2"),
        ("sweep --vary gamma=2", "gamma must be in [0, 1], not 2"),
        ("sweep --vary epochs=1.5", "epochs must be a whole number, not 1.5"),
        ("sweep --vary gamma=0.9,0.9", "--vary has a value of gamma twice"),
        ("sweep --vary gamma=0.9 --vary gamma=0.8", "--vary has gamma twice"),
        ("sweep --vary gamma=0.9 --seeds 0", "--seeds must be at least 1, not 0"),
        ("sweep --vary gamma=0.9 --seeds 1000000", "a sweep has at most 100,000"),
        ("sweep --vary gamma=0.9 --rung glue", "unknown rung 'glue'"),
        ("sweep --vary huber_delta=1,2", "huber_delta has no effect without huber; --rung ppo+huber"),
        (f"sweep {TUNED} value_epochs=1,2", "has no effect without reuse"),
        (f"sweep {TUNED} max_value_grad_norm=1", "without grad_clip; --rung baseline+separate_optimizers+grad_clip"),
        ("sweep --rung ppg_buffers+separate_optimizers --vary value_epochs=1,2", BUFFERS),
        ("sweep --vary gamma=0.9 --env Glue-v0", "Glue"),
        ("sweep --vary minibatches=4,100000", "--vary has a combination that cannot be: 100000 minibatches are more"),
    ],
)
def test_bad_input_is_one_line(words: str, message: str, refuses: Callable[..., None]) -> None:
    refuses(main, words.split(), message)
