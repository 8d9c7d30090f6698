"""huber: quadratic within δ of the target, linear beyond, with one tangent where they meet."""

import pytest
import torch

from tricks.baseline import squared_error
from tricks.huber import linear_beyond
from tricks.value_clip import clipped_error

VALUE, TARGET = torch.tensor([[0.0, 0.5, 2.0, 3.0, -7.0]]).double(), torch.zeros(1, 5).double()


@pytest.mark.parametrize("delta", [0.3, 0.5, 1.0, 2.0])
def test_it_is_torchs_huber_loss_of_the_error(delta: float) -> None:
    value, other = VALUE.clone().requires_grad_(), VALUE.clone().requires_grad_()
    found = linear_beyond(squared_error(value, TARGET), delta)
    expected = torch.nn.functional.huber_loss(other, TARGET, reduction="none", delta=delta)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    found.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(value.grad, other.grad)


def test_no_error_pulls_harder_than_delta() -> None:
    value = torch.tensor([[1e6, -1e6]]).double().requires_grad_()
    linear_beyond(squared_error(value, torch.zeros(1, 2)), 2.0).sum().backward()
    assert value.grad is not None
    torch.testing.assert_close(value.grad, torch.tensor([[2.0, -2.0]]).double())


def test_under_value_clip_it_is_the_larger_of_the_two_huber_losses() -> None:
    old = torch.tensor([[0.0, 2.0, -1.0, 6.0, 0.0]]).double()
    near = old + (VALUE - old).clamp(-0.2, 0.2)
    each = [torch.nn.functional.huber_loss(v, TARGET, reduction="none") for v in (VALUE, near)]
    torch.testing.assert_close(linear_beyond(clipped_error(VALUE, old, TARGET, 0.2), 1.0), torch.maximum(*each))
