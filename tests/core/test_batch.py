"""Batch: named columns, which minibatches and memories carry along; Memory: those of the newest rollouts."""

import pytest
import torch

from tricks.core.moments import ReturnStats
from tricks.core.rollout import Batch
from tricks.ppg import Memory
from tricks.reuse import minibatches

STATS = ReturnStats(torch.tensor([3.0]).double(), torch.tensor([4.0]).double())


def rows() -> Batch:
    """One seed, two steps of three lanes: action k has value k and target 10k."""
    batch = Batch()
    action = torch.arange(6).view(1, 2, 3)
    batch.add(action=action, valid=torch.ones_like(action, dtype=torch.bool), value=action.double())
    batch.target = 10 * batch.value
    return batch


def test_columns_given_as_steps_and_lanes_become_rows() -> None:
    assert rows().action.tolist() == [[0, 1, 2, 3, 4, 5]]
    assert list(rows().columns) == ["action", "valid", "value", "target"]


def test_a_column_that_nobody_added_cannot_be_read() -> None:
    with pytest.raises(AttributeError, match="log_prob"):
        _ = rows().log_prob


def test_a_minibatch_has_every_column_of_its_batch_row_by_row() -> None:
    for b in minibatches(rows(), seeds=(0,), update=0, epochs=1, count=2):
        assert list(b.columns) == list(rows().columns)
        assert torch.equal(b.target, 10.0 * b.action)


def test_what_is_remembered_survives_a_checkpoint() -> None:
    memory, again = Memory(rollouts=2), Memory(rollouts=2)
    for update in range(3):
        memory.add(rows(), STATS, update)
    assert again.length == 0
    again.load_state_dict(memory.state_dict())
    assert again.length == 6
    again.add(rows(), STATS, 3)
    assert again.rows.born.tolist() == [[2] * 6 + [3] * 6]
    assert again.rows.target[0, :3].tolist() == [3, 23, 43]  # 2·10k + 3
    assert again.batch(STATS).target[0, :3].tolist() == [0, 10, 20]
