"""Statistics of returns, and discounted sums."""

import torch

from tricks.core.moments import ReturnStats
from tricks.core.returns import discounted_sum


def test_a_deviation_is_neither_too_small_nor_too_large_to_divide_by() -> None:
    variance = torch.tensor([0.0, 1e-20, 4.0, 1e20, torch.inf]).double()
    assert ReturnStats(variance, variance).std.tolist() == [1e-4, 1e-4, 2, 1e6, 1e6]


def test_a_discounted_sum_by_hand_of_one_row_and_of_three() -> None:
    x, discount = torch.tensor([[[1.0], [10.0], [100.0]]]), torch.tensor([[[0.5], [0.25], [7.0]]])
    assert discounted_sum(x[:, :1], discount[:, :1]).flatten().tolist() == [1]
    assert discounted_sum(x, discount).flatten().tolist() == [18.5, 35, 100]
