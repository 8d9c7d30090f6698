"""value_clip: the larger of the two errors, so that a far value has no gradient left only where it errs less."""

import pytest
import torch
from torch import Tensor

import tricks.loop as loop
from tricks import Config, train
from tricks.ladder import closed, switched
from tricks.value_clip import clipped_error


def test_known_values() -> None:
    value, old = torch.tensor([[1.0, 1.0, 0.1]]), torch.tensor([[0.0, 0.0, 0.0]])
    target = torch.tensor([[2.0, 0.0, 2.0]])
    # near is 0.2, 0.2 and 0.1: the clipped error wins, the plain one wins, both are equal
    found = clipped_error(value, old, target, 0.2)
    torch.testing.assert_close(found, torch.tensor([[0.5 * 1.8**2, 0.5, 0.5 * 1.9**2]]))


def test_no_gradient_once_the_value_has_moved_far_towards_its_target() -> None:
    value = torch.tensor([[1.0, 0.1]], requires_grad=True)
    clipped_error(value, torch.zeros(1, 2), torch.full((1, 2), 2.0), 0.2).sum().backward()
    assert value.grad is not None
    torch.testing.assert_close(value.grad, torch.tensor([[0.0, -1.9]]))


def test_each_seed_may_have_a_range_of_its_own() -> None:
    value, old = torch.tensor([[1.0, 3.0], [1.0, 3.0]]), torch.zeros(2, 2)
    target = torch.full((2, 2), 4.0)
    both = clipped_error(value, old, target, torch.tensor([[0.2], [2.0]]))
    for seed, limit in enumerate((0.2, 2.0)):
        torch.testing.assert_close(both[seed], clipped_error(value, old, target, limit)[seed])


def test_the_range_is_as_precise_as_the_values() -> None:
    value, old, target = (torch.tensor([[x]]).double() for x in (1.0, 0.0, 2.0))
    assert clipped_error(value, old, target, 0.3).item() == pytest.approx(0.5 * 1.7**2, rel=1e-12)


def test_the_loop_hands_the_range_on_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges = list[Tensor]()

    def recording(value: Tensor, old: Tensor, target: Tensor, clip_range: Tensor) -> Tensor:
        ranges.append(clip_range)
        return clipped_error(value, old, target, clip_range)

    monkeypatch.setattr(loop, "clipped_error", recording)
    config = Config("ShortCartPole-v0", seeds=2, steps=1, lanes=2, horizon=8, value_clip_range=(0.3, 0.7))
    train(config, switched(closed(["value_clip"])))
    assert ranges[0].tolist() == [[0.3], [0.7]]
