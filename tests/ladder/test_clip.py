"""clip: the surrogate stops paying, on the side where it would pay, and only there."""

import torch

from tricks.clip import clip_fraction, clipped_surrogate

EPSILON = torch.tensor([0.2])


def test_known_values_in_all_four_corners() -> None:
    ratio, advantage = torch.tensor([[1.5, 0.5, 1.5, 0.5]]), torch.tensor([[1.0, 1.0, -1.0, -1.0]])
    found = clipped_surrogate(ratio, advantage, EPSILON)
    torch.testing.assert_close(found, torch.tensor([[1.2, 0.5, -1.5, -0.8]]))


def test_the_gradient_vanishes_only_where_moving_on_would_gain() -> None:
    ratio = torch.tensor([[1.5, 0.5, 1.5, 0.5]], requires_grad=True)
    advantage = torch.tensor([[1.0, 1.0, -1.0, -1.0]])
    clipped_surrogate(ratio, advantage, EPSILON).sum().backward()
    assert ratio.grad is not None
    assert ratio.grad.tolist() == [[0, 1, -1, 0]]


def test_each_seed_has_its_own_range() -> None:
    ratio, advantage = torch.full((2, 1), 3.0), torch.ones(2, 1)
    found = clipped_surrogate(ratio, advantage, torch.tensor([0.1, 0.5]))
    torch.testing.assert_close(found, torch.tensor([[1.1], [1.5]]))


def test_clip_fraction_counts_valid_rows_outside_the_range() -> None:
    ratio, valid = torch.tensor([[1.3, 1.1, 0.7, 9.0]]), torch.tensor([[True, True, True, False]])
    torch.testing.assert_close(clip_fraction(ratio, EPSILON, valid), torch.tensor([2 / 3]))


def test_a_ratio_at_the_edge_of_the_range_is_within_it() -> None:
    ratio, valid = torch.tensor([[1.25, 0.75, 1.26, 0.74]]), torch.ones(1, 4, dtype=torch.bool)
    assert clip_fraction(ratio, torch.tensor([0.25]), valid).tolist() == [0.5]
