"""Sequences through a recurrent layer: the form with a backward pass of its own equals the plain formula."""

import pytest
import torch
from torch import Tensor

from tricks import Config
from tricks.core import layers
from tricks.fast import recurrence
from tricks.recurrent import Cell

KINDS = pytest.mark.parametrize("kind", ["lstm", "gru"])
S, L, H = 3, 4, 5


def given(kind: str, steps: int, features: int = 6) -> tuple[Cell, Tensor, Tensor, Tensor]:
    """A cell, what features contribute to its gates, where episodes go on, and a state, all in float64."""
    rng = torch.Generator().manual_seed(steps)
    cell = Cell(range(S), 0, features, Config(recurrent_cell=kind, recurrent_size=H)).double()
    rows = torch.randn(S, steps, L, cell.onward.shape[-1], generator=rng, dtype=torch.float64)
    goes_on = torch.rand(S, steps, L, 1, generator=rng) > 0.2  # with ends in the first and the last row, too
    goes_on[0, 0], goes_on[0, -1] = False, False
    state = torch.randn(S, L, cell.state_size, generator=rng, dtype=torch.float64)
    return cell, rows.requires_grad_(), goes_on, state.requires_grad_()


@KINDS
@pytest.mark.parametrize("steps", [1, 2, 9])
@pytest.mark.filterwarnings("error:An output with one or more elements was resized")
def test_it_equals_the_plain_formula(kind: str, steps: int) -> None:
    cell, rows, goes_on, state = given(kind, steps)
    before = rows.detach().clone()
    found, plain = (form(cell, rows, goes_on, state) for form in (recurrence.over_time, layers.over_time))
    for mine, right in zip(found, plain, strict=True):
        torch.testing.assert_close(mine, right)
    weights = [torch.randn_like(x) for x in plain]
    gradients = [torch.autograd.grad([h, last], [rows, cell.onward, state], weights) for h, last in (found, plain)]
    for mine, right in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, right)
    assert rows.equal(before)  # nothing is written into what it was given


@KINDS
def test_a_seed_alone_has_the_same_gradient(kind: str) -> None:
    cell, rows, goes_on, state = given(kind, 7)
    h, _ = recurrence.over_time(cell, rows, goes_on, state)
    (all_,) = torch.autograd.grad(h.square().sum(), rows)
    cell = Cell((1,), 0, 6, Config(recurrent_cell=kind, recurrent_size=H)).double()
    alone = rows[1:2].detach().clone().requires_grad_()  # of one seed, rows in the order of time are no copy
    h, _ = recurrence.over_time(cell, alone, goes_on[1:2], state[1:2])
    (one,) = torch.autograd.grad(h.square().sum(), alone)
    torch.testing.assert_close(one, all_[1:2])
    assert alone.equal(rows[1:2])
