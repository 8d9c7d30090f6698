"""Means within a seed, over its valid rows."""

import torch

from tricks.core.reductions import mean


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
