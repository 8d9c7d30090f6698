"""dual_clip: the objective of a bad action has a floor of c·A, whatever the ratio; nothing else changes."""

import pandas as pd
import pytest
import torch

from tricks import PPO, Config, InputError, train
from tricks.dual_clip import bounded_below, bounded_fraction
from tricks.ladder import named

RATIO, ADVANTAGE = torch.tensor([[5.0, 2.0, 0.5, 5.0]]), torch.tensor([[-1.0, -1.0, -1.0, 1.0]])


def test_known_values_on_either_side_of_the_limit() -> None:
    found = bounded_below(RATIO * ADVANTAGE, ADVANTAGE, 3.0)
    assert found.tolist() == [[-3.0, -2.0, -0.5, 5.0]]


def test_beyond_the_limit_a_bad_action_has_no_gradient_and_a_good_one_keeps_its_own() -> None:
    ratio = RATIO.clone().requires_grad_()
    bounded_below(ratio * ADVANTAGE, ADVANTAGE, 3.0).sum().backward()
    assert ratio.grad is not None
    assert ratio.grad.tolist() == [[0.0, -1.0, -1.0, 1.0]]


def test_the_share_counts_valid_rows_without_a_gradient() -> None:
    valid = torch.tensor([[True, True, False, True]])
    torch.testing.assert_close(bounded_fraction(RATIO, ADVANTAGE, 3.0, valid), torch.tensor([1 / 3]))


def test_a_ratio_at_the_limit_and_an_action_that_is_not_bad_keep_their_gradient() -> None:
    ratio, advantage = torch.tensor([[3.0, 9.0, 9.0]]), torch.tensor([[-1.0, 0.0, -1.0]])
    found = bounded_fraction(ratio, advantage, 3.0, torch.ones(1, 3, dtype=torch.bool))
    torch.testing.assert_close(found, torch.tensor([1 / 3]))


def test_a_limit_that_is_never_reached_changes_nothing() -> None:
    config = Config("ShortCartPole-v0", seeds=2, steps=300, lanes=4, horizon=16, dual_clip_limit=1e9)
    bounded, free = (train(config, tricks).curve for tricks in (named("dual_clip"), PPO))
    assert (bounded.bounded_fraction == 0).all()
    pd.testing.assert_frame_equal(bounded.drop(columns="bounded_fraction"), free.drop(columns="bounded_fraction"))


def test_a_limit_of_one_or_less_would_undo_the_clip_and_is_refused() -> None:
    with pytest.raises(InputError, match="dual_clip_limit must be more than 1, not 1"):
        Config(dual_clip_limit=1)
