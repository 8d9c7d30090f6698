"""advantage_norm: mean 0 and std 1 over valid rows, whatever the scale; one row gives 0."""

import torch

from tricks.advantage_norm import standardize


def test_mean_zero_std_one_whatever_the_scale() -> None:
    advantage = torch.tensor([[1.0, 2.0, 4.0, 9.0, 777.0]]) * torch.tensor([[1.0], [1e-2], [1e4]])
    valid = torch.tensor([[True, True, True, True, False]]).expand(3, -1)
    found = standardize(advantage, valid)[:, :4]
    torch.testing.assert_close(found.mean(1), torch.zeros(3), atol=1e-6, rtol=0)
    torch.testing.assert_close(found.std(1), torch.ones(3))


def test_a_single_row_or_equal_rows_give_zero_not_nan() -> None:
    assert standardize(torch.tensor([[5.0, 3.0]]), torch.tensor([[True, False]]))[0, 0] == 0
    assert standardize(torch.tensor([[5.0, 5.0]]), torch.tensor([[True, True]])).tolist() == [[0, 0]]


def test_two_rows_are_half_a_root_from_their_mean() -> None:
    found = standardize(torch.tensor([[5.0, 3.0, 99.0]]), torch.tensor([[True, True, False]]))[0, :2]
    torch.testing.assert_close(found, torch.tensor([0.5**0.5, -(0.5**0.5)]))  # the unbiased std of 5 and 3 is √2


def test_a_deviation_as_small_as_epsilon_counts_half() -> None:
    found = standardize(torch.tensor([[2.0, 4.0]]), torch.ones(1, 2, dtype=torch.bool), eps=2**0.5)
    torch.testing.assert_close(found, torch.tensor([[-1.0, 1.0]]) / 8**0.5)
