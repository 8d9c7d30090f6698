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


def steps(dealer: str, tricks: Tricks, both: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[list[bool]]]:
    """How many minibatches had no rows of the second seed, and which seeds took each step of any optimizer.

    both: also drop its rows from the value net's buffer, of which otherwise only the first row is dropped.
    """
    owner = AuxiliaryPhase if dealer == "minibatches" and tricks.ppg else loop
    deal, step, emptied, moved = getattr(owner, dealer), Adam.step, 0, list[list[bool]]()

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

    def recording(self: Adam, gradient: Tensor, learning_rate: Tensor, moving: Tensor) -> None:
        moved.append(moving.tolist())
        step(self, gradient, learning_rate, moving)

    monkeypatch.setattr(owner, dealer, some_empty)
    monkeypatch.setattr(Adam, "step", recording)
    train(replace(CONFIG, aux_every=1 if owner is not loop else 100), tricks)
    return emptied, moved


@pytest.mark.parametrize(
    ("dealer", "tricks", "optimizers"),
    [
        ("minibatches", PPO, 1),
        ("in_turn", named("separate_optimizers"), 2),
        ("minibatches", PPG, 1),
        ("dealt_apart", named("ppg_buffers"), 1),
    ],
)
def test_a_seed_without_rows_takes_no_step(
    dealer: str, tricks: Tricks, optimizers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    emptied, moved = steps(dealer, tricks, True, monkeypatch)
    assert emptied > 2
    assert moved.count([True, False]) == optimizers * emptied
    assert moved.count([True, True]) == len(moved) - optimizers * emptied


def test_with_buffers_rows_of_either_net_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    emptied, moved = steps("dealt_apart", named("ppg_buffers"), False, monkeypatch)
    assert emptied > 2
    assert set(map(tuple, moved)) == {(True, True)}


def test_an_auxiliary_gradient_that_is_not_finite_stops_its_own_seed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    step, moved = Adam.step, list[list[bool]]()

    def infinite(*given: Any) -> tuple[Tensor, ...]:
        return tuple(error * torch.where(FIRST, 1.0, torch.inf) for error in auxiliary_errors(*given))

    def recording(self: Adam, gradient: Tensor, learning_rate: Tensor, moving: Tensor) -> None:
        moved.append(moving.tolist())
        step(self, gradient, learning_rate, moving)

    monkeypatch.setattr(loop, "auxiliary_errors", infinite)
    monkeypatch.setattr(Adam, "step", recording)
    run = train(replace(CONFIG, aux_every=1, aux_epochs=1), PPG)
    assert [True, False] in moved
    assert all(first for first, _ in moved)
    assert list(run.diverged) == [1]
    assert all(p.isfinite().all() for p in run.agent.parameters())
