"""Means within a seed, over its valid rows."""

from contextlib import nullcontext

import torch

from tricks.core.reductions import mean
from tricks.fast.dispatch import plain


def test_a_mean_is_over_the_valid_rows_and_zero_where_there_are_none() -> None:
    x = torch.tensor([[1.0, 3.0, 100.0], [1.0, 3.0, 100.0], [1.0, 3.0, 100.0]])
    valid = torch.tensor([[True, True, False], [True, True, True], [False, False, False]])
    torch.testing.assert_close(mean(x, valid), torch.tensor([2.0, 104 / 3, 0.0]))


def test_a_mask_that_changes_in_place_counts_as_it_is_now() -> None:
    for guard in (torch.inference_mode, torch.no_grad, torch.enable_grad):
        with guard():
            x, valid = torch.tensor([[1.0, 3.0, 100.0]]), torch.tensor([[True, True, False]])
            assert mean(x, valid).item() == 2
            valid[0, 2] = True
            torch.testing.assert_close(mean(x, valid), torch.tensor([104 / 3]))


def test_no_gradient_reaches_filler_rows_not_even_one_that_is_not_finite() -> None:
    """∞ · 0 would be NaN: whether a seed's loss overflows must not depend on how its rows are padded."""
    valid = torch.tensor([[True, False, True], [False, False, False]]).repeat(3, 1)
    grad = torch.tensor([1.0, -1.0, torch.inf, -torch.inf, torch.nan, -2.0])
    found = []
    for context in (nullcontext(), plain()):
        x = torch.ones(6, 3, requires_grad=True)
        with context:
            mean(x, valid).backward(grad)
        assert x.grad is not None
        found.append(x.grad)
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=0, equal_nan=True)
    assert (
        found[0].signbit().where(found[0].isfinite(), False).equal(found[1].signbit().where(found[1].isfinite(), False))
    )
    assert found[0][2].tolist() == [torch.inf, 0, torch.inf]
