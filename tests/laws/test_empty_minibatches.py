"""A seed without rows in a minibatch takes no step on it, although its momentum would move it; the others do."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

import tricks.loop as loop
from tricks import PPG, PPO, Config, Tricks, train
from tricks.core.adam import Adam
from tricks.core.rollout import Batch
from tricks.ladder import named
from tricks.ppg import AuxiliaryPhase, auxiliary_errors

CONFIG = Config("ShortCartPole-v0", seeds=2, steps=1, lanes=4, horizon=16, hidden=(8,), epochs=2, value_epochs=2)
FIRST = torch.tensor([[True], [False]])


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> list[list[bool]]:
    """Which seeds took each step of any optimizer."""
    step, moved = Adam.step, list[list[bool]]()

    def recording(self: Adam, gradient: Tensor, learning_rate: Tensor, moving: Tensor) -> None:
        moved.append(moving.tolist())
        step(self, gradient, learning_rate, moving)

    monkeypatch.setattr(Adam, "step", recording)
    return moved


@pytest.mark.parametrize(
    ("dealer", "tricks", "optimizers", "both"),
    [
        ("minibatches", PPO, 1, True),
        ("in_turn", named("separate_optimizers"), 2, True),
        ("minibatches", PPG, 1, True),
        ("dealt_apart", named("ppg_buffers"), 1, True),
        ("dealt_apart", named("ppg_buffers"), 1, False),  # with buffers, rows of either net are enough
    ],
)
def test_a_seed_without_rows_takes_no_step(
    dealer: str, tricks: Tricks, optimizers: int, both: bool, moved: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """both: also drop its rows from the value net's buffer, of which otherwise only the first row is dropped."""
    owner = AuxiliaryPhase if dealer == "minibatches" and tricks.ppg else loop
    deal, emptied = getattr(owner, dealer), 0

    def some_empty(*given: Any) -> Iterator[Batch]:
        nonlocal emptied
        for k, b in enumerate(deal(*given)):
            if k % 2:
                emptied += 1
                b.valid = b.valid & FIRST
                if tricks.ppg_buffers:
                    rows = torch.arange(b.value_rows.valid.shape[1]) > 0
                    b.value_rows.valid = b.value_rows.valid & (FIRST if both else rows)
            yield b

    monkeypatch.setattr(owner, dealer, some_empty)
    train(replace(CONFIG, aux_every=1 if owner is not loop else 100), tricks)
    assert emptied > 2
    assert moved.count([True, False]) == optimizers * emptied * both
    assert moved.count([True, True]) == len(moved) - optimizers * emptied * both


def test_an_auxiliary_loss_that_is_not_finite_ends_its_own_seed_there_and_no_other(
    moved: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def infinite(*given: Any) -> tuple[Tensor, ...]:
        return tuple(error * torch.where(FIRST, 1.0, torch.inf) for error in auxiliary_errors(*given))

    monkeypatch.setattr(loop, "auxiliary_errors", infinite)
    run = train(replace(CONFIG, steps=300, aux_every=2, aux_epochs=1), PPG)
    assert [True, False] in moved
    assert all(first for first, _ in moved)
    assert list(run.diverged) == [1]
    assert all(p.isfinite().all() for p in run.agent.parameters())
    assert run.curve[run.curve.seed == 1]["update"].max() == 1
    assert run.curve[run.curve.seed == 0].step.max() >= 300
