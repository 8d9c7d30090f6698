"""Numbers that may differ from seed to seed."""

from dataclasses import fields, replace

import pytest
import torch

from tricks import Config, InputError
from tricks.config import PerSeed
from tricks.core.per_seed import per_seed


@pytest.mark.parametrize("name", [f.name for f in fields(Config) if f.type == PerSeed])
def test_as_many_numbers_as_seeds_or_one(name: str) -> None:
    usual = getattr(Config, name)
    with pytest.raises(InputError, match=f"{name} must be one number or one for each of 2 seeds"):
        replace(Config(seeds=2), **{name: (usual,) * 3})  # type: ignore[arg-type]
    both = replace(Config(seeds=2), **{name: (usual, usual)})  # type: ignore[arg-type]
    assert both.each(name) == (usual, usual)
    assert getattr(both.only(1), name) == usual


def test_one_number_stays_as_it_is_and_several_become_a_column() -> None:
    like = torch.zeros(2, 3, 4, dtype=torch.float64)
    assert per_seed(0.5, like) == 0.5
    column = per_seed((0.1, 0.2), like)
    assert isinstance(column, torch.Tensor)
    assert (column.shape, column.dtype) == ((2, 1, 1), torch.float64)
    assert column.flatten().tolist() == [0.1, 0.2]
    assert (like + column)[1, 2, 3] == 0.2
    assert per_seed((0.1, 0.2), torch.zeros(2)).shape == (2,)  # type: ignore[union-attr]
