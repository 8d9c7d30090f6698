"""Means within a seed, over its valid rows; discounted sums; deviations."""

from contextlib import nullcontext

import torch

from tricks.core.moments import ReturnStats
from tricks.core.reductions import mean
from tricks.core.returns import discounted_sum
from tricks.fast.dispatch import plain


def test_a_mean_is_over_the_valid_rows_and_zero_where_there_are_none() -> None:
    x = torch.tensor([[1.0, 3.0, 100.0]]).repeat(3, 1)
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
    signs = [x.signbit().where(x.isfinite(), False) for x in found]
    assert signs[0].equal(signs[1])
    assert found[0][2].tolist() == [torch.inf, 0, torch.inf]


def test_a_deviation_is_neither_too_small_nor_too_large_to_divide_by() -> None:
    variance = torch.tensor([0.0, 1e-20, 4.0, 1e20, torch.inf]).double()
    assert ReturnStats(variance, variance).std.tolist() == [1e-4, 1e-4, 2, 1e6, 1e6]


def test_a_discounted_sum_by_hand_of_one_row_and_of_three() -> None:
    x, discount = torch.tensor([[[1.0], [10.0], [100.0]]]), torch.tensor([[[0.5], [0.25], [7.0]]])
    assert discounted_sum(x[:, :1], discount[:, :1]).flatten().tolist() == [1]
    assert discounted_sum(x, discount).flatten().tolist() == [18.5, 35, 100]
