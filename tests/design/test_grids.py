"""Grids of numbers: every combination is trained, each agent with the numbers of its combination."""

from collections.abc import Callable

import pytest

from ablations.cli import main
from ablations.design import grids
from ablations.design.grids import SIDE_BY_SIDE, combinations, parse, stacks
from tricks import Config


def test_values_are_numbers_of_their_kind() -> None:
    grid = parse(["clip-range=0.1,0.2", "epochs=1,4"])
    assert grid == {"clip_range": (0.1, 0.2), "epochs": (1, 4)}
    assert [type(value) for value in grid["epochs"]] == [int, int]


def test_every_combination_is_in_one_stack_with_its_own_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grids, "STACK", 6)
    grid = parse(["gamma=0.9,0.99", "epochs=1,4", "lr=0.001,0.01"])
    found = list(stacks(Config(), grid, seeds=3))
    assert [(stack.config.epochs, len(stack.cells)) for stack in found] == [(1, 6), (4, 6), (1, 6), (4, 6)]
    assert sorted({tuple(cell.values()) for stack in found for cell in stack.cells}) == sorted(
        (cell["epochs"], cell["gamma"], cell["lr"]) for cell in combinations(grid)
    )
    for stack in found:
        for k, (cell, seed) in enumerate(zip(stack.cells, stack.config.seed_list, strict=True)):
            alone = stack.config.only(k)
            assert (alone.gamma, alone.lr, alone.epochs, alone.seeds) == (
                cell["gamma"],
                cell["lr"],
                cell["epochs"],
                (seed,),
            )
    seeds = [stack.config.seed_list for stack in found if stack.config.epochs == 1]
    assert sum(seeds, ()) == tuple(range(12))


def test_numbers_that_need_not_be_whole_train_side_by_side() -> None:
    assert {"lr", "gamma", "clip_range", "entropy_coef", "gae_lambda"} <= set(SIDE_BY_SIDE)
    assert not {"epochs", "minibatches", "lanes"} & set(SIDE_BY_SIDE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--vary is missing"),
        (["--vary", "glue=1"], "--vary has no number 'glue'; it has "),
        (["--vary", "seeds=1,2"], "--vary has no number 'seeds'"),
        (["--vary", "gamma=x"], "--vary needs values such as gamma=1,2, not 'gamma=x'"),
        (["--vary", "gamma"], "--vary needs values such as gamma=1,2"),
        (["--vary", "gamma=2"], "gamma must be in [0, 1], not 2"),
        (["--vary", "epochs=1.5"], "epochs must be a whole number, not 1.5"),
        (["--vary", "gamma=0.9,0.9"], "--vary has a value of gamma twice"),
        (["--vary", "gamma=0.9", "--vary", "gamma=0.8"], "--vary has gamma twice"),
        (["--vary", "gamma=0.9", "--seeds", "0"], "--seeds must be at least 1, not 0"),
        (["--vary", "gamma=0.9", "--seeds", "1000000"], "a sweep has at most 100,000"),
        (["--vary", "gamma=0.9", "--rung", "glue"], "unknown rung 'glue'"),
        (["--vary", "huber_delta=1,2"], "huber_delta has no effect without huber; --rung ppo+huber"),
        (["--rung", "baseline+separate_optimizers", "--vary", "value_epochs=1,2"], "has no effect without reuse"),
        (
            ["--rung", "baseline+separate_optimizers", "--vary", "max_value_grad_norm=1"],
            "has no effect without grad_clip; --rung baseline+separate_optimizers+grad_clip",
        ),
        (
            ["--rung", "ppg_buffers+separate_optimizers", "--vary", "value_epochs=1,2"],
            "value_epochs has no effect with ppg_buffers, which have value_uses instead",
        ),
        (["--vary", "gamma=0.9", "--env", "Glue-v0"], "Glue"),
        (["--vary", "minibatches=4,100000"], "--vary has a combination that cannot be: 100000 minibatches are more"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, refuses: Callable[..., None]) -> None:
    refuses(main, ["sweep", *arguments], message)
