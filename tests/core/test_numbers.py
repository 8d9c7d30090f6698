"""Numbers that may differ from seed to seed."""

import torch

from tricks.core.numbers import per_seed


def test_one_number_stays_as_it_is_and_several_become_a_column() -> None:
    like = torch.zeros(2, 3, 4, dtype=torch.float64)
    assert per_seed(0.5, like) == 0.5
    column = per_seed((0.1, 0.2), like)
    assert isinstance(column, torch.Tensor)
    assert (column.shape, column.dtype) == ((2, 1, 1), torch.float64)
    assert column.flatten().tolist() == [0.1, 0.2]
    assert (like + column)[1, 2, 3] == 0.2
    assert per_seed((0.1, 0.2), torch.zeros(2)).shape == (2,)  # type: ignore[union-attr]
