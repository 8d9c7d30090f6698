"""clip, dual_clip, value_clip, huber, grad_clip, kl_stop: each limits what it is to limit, on its own side."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import huber_loss

from tricks import Config, InputError, train
from tricks.baseline import squared_error
from tricks.clip import clip_fraction, clipped_surrogate
from tricks.core.rollout import Rollout
from tricks.dual_clip import bounded_below, bounded_fraction
from tricks.grad_clip import shorten
from tricks.huber import linear_beyond
from tricks.kl_stop import near_enough
from tricks.ladder import named
from tricks.runs.log import Log
from tricks.value_clip import clipped_error


def row(*numbers: float) -> Tensor:
    return torch.tensor([numbers], dtype=torch.float64)


SIGNS, ALL = row(1, 1, -1, -1), torch.ones(1, 4, dtype=torch.bool)
BAD, PAIR = row(-1, -1, -1, 1), row(0, 0)
# a function of x, which may have a gradient; x; what comes out; and the gradient
LIMITS: dict[str, tuple[Callable[[Tensor], Tensor], Tensor, Tensor, Tensor]] = {
    "clip, in all four corners": (
        lambda ratio: clipped_surrogate(ratio, SIGNS, row(0.2)[0]),
        *(row(1.5, 0.5, 1.5, 0.5), row(1.2, 0.5, -1.5, -0.8), row(0, 1, -1, 0)),
    ),
    "dual_clip, where A < 0 and where not": (
        lambda ratio: bounded_below(ratio * BAD, BAD, 3.0),
        *(row(5, 2, 0.5, 5), row(-3, -2, -0.5, 5), row(0, -1, -1, 1)),
    ),
    "value_clip, where the clipped error wins, where the plain one does, and where they are equal": (
        lambda value: clipped_error(value, row(0, 0, 0), row(2, 0, 2), 0.2),  # near is 0.2, 0.2 and 0.1
        *(row(1, 1, 0.1), row(0.5 * 1.8**2, 0.5, 0.5 * 1.9**2), row(0, 1, -1.9)),
    ),
    "a range as precise as the values": (
        lambda value: clipped_error(value, row(0), row(2), 0.3),
        *(row(1), row(0.5 * 1.7**2), row(0)),
    ),
    "huber, far out": (
        lambda value: linear_beyond(squared_error(value, PAIR), 2.0),
        *(row(1e6, -1e6), row(1_999_998, 1_999_998), row(2, -2)),
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_known_values_and_gradients_on_either_side_of_a_limit(name: str) -> None:
    function, x, values, slopes = LIMITS[name]
    found = function(x := x.clone().requires_grad_())
    torch.testing.assert_close(found, values, rtol=1e-12, atol=0)
    (gradient,) = torch.autograd.grad(found.sum(), x)
    torch.testing.assert_close(gradient, slopes, rtol=1e-12, atol=0)


def test_each_seed_has_its_own_range_and_shares_count_valid_rows_beyond_a_limit() -> None:
    found = clipped_surrogate(torch.full((2, 1), 3.0), torch.ones(2, 1), torch.tensor([0.1, 0.5]))
    torch.testing.assert_close(found, torch.tensor([[1.1], [1.5]]))
    value, old, target = torch.tensor([[1.0, 3.0], [1.0, 3.0]]), torch.zeros(2, 2), torch.full((2, 2), 4.0)
    both = clipped_error(value, old, target, torch.tensor([[0.2], [2.0]]))
    for seed, limit in enumerate((0.2, 2.0)):
        torch.testing.assert_close(both[seed], clipped_error(value, old, target, limit)[seed])
    valid = torch.tensor([[True, True, True, False]])
    assert clip_fraction(row(1.3, 1.1, 0.7, 9), torch.tensor([0.2]), valid).item() == pytest.approx(2 / 3)
    assert clip_fraction(row(1.25, 0.75, 1.26, 0.74), torch.tensor([0.25]), ALL).tolist() == [0.5]
    valid = torch.tensor([[True, True, False, True]])
    assert bounded_fraction(row(5, 2, 0.5, 5), BAD, 3.0, valid).item() == pytest.approx(1 / 3)
    assert bounded_fraction(row(3, 9, 9), row(-1, 0, -1), 3.0, ALL[:, :3]).item() == pytest.approx(1 / 3)


def test_a_dual_clip_that_would_undo_the_clip_is_refused_and_grad_clip_equals_torch_s() -> None:
    with pytest.raises(InputError, match="dual_clip_limit must be more than 1 and finite, not 1"):
        Config(dual_clip_limit=1)
    gradient = torch.randn(3, 20, generator=torch.Generator().manual_seed(0)) * torch.tensor([[0.01], [1.0], [100.0]])
    found = shorten(gradient, gradient.norm(dim=1), 0.5)
    for seed in range(3):
        parameter = torch.nn.Parameter(torch.zeros(20))
        parameter.grad = gradient[seed].clone()
        torch.nn.utils.clip_grad_norm_([parameter], 0.5)
        torch.testing.assert_close(found[seed], parameter.grad)
    torch.testing.assert_close(found[0], gradient[0])  # a short gradient stays as it is
    halved = shorten(torch.tensor([[1e-6, 0.0]]), torch.tensor([1e-6]), 1e-6)  # as small as the constant beside it
    torch.testing.assert_close(halved, torch.tensor([[5e-7, 0.0]]), rtol=1e-5, atol=0)


@pytest.mark.parametrize("delta", [0.3, 0.5, 1.0, 2.0])
def test_huber_is_torchs_loss_of_the_error_and_under_value_clip_the_larger_of_two(delta: float) -> None:
    given, target = row(0, 0.5, 2, 3, -7), torch.zeros(1, 5).double()
    value, other = given.clone().requires_grad_(), given.clone().requires_grad_()
    found = linear_beyond(squared_error(value, target), delta)
    expected = huber_loss(other, target, reduction="none", delta=delta)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    found.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(value.grad, other.grad)
    old = row(0, 2, -1, 6, 0)
    near = old + (given - old).clamp(-0.2, 0.2)
    each = [huber_loss(v, target, reduction="none", delta=delta) for v in (given, near)]
    torch.testing.assert_close(linear_beyond(clipped_error(given, old, target, 0.2), delta), torch.maximum(*each))


SHORT = Config("ShortCartPole-v0", seeds=3, steps=300, lanes=4, horizon=16, lr=0.003)
STEPS = SHORT.epochs * SHORT.minibatches


def test_known_divergences_on_either_side_of_the_limit_and_the_least_limit_takes_one_step() -> None:
    ratio = torch.tensor([[1.0, 1.0], [2.0, 1.0], [1.5, 0.5], [torch.nan, 1.0]])
    # ρ − 1 − log ρ: 1 − log 2 = 0.3069 at 2, 0.5 − log 1.5 = 0.0945 at 1.5, −0.5 + log 2 = 0.1931 at 0.5
    valid = torch.ones(4, 2, dtype=torch.bool)
    assert near_enough(ratio, valid, 0.1535 / 1.5).tolist() == [True, True, True, False]  # 0, 0.1534, 0.1438
    assert near_enough(ratio, valid, 0.1500 / 1.5).tolist() == [True, False, True, False]
    assert near_enough(ratio, valid, 0.1400 / 1.5).tolist() == [True, False, False, False]
    assert near_enough(ratio, valid, 0.0).tolist() == [True, False, False, False]  # it has not moved
    valid[1, 0] = False  # a row that is not experience does not count
    assert near_enough(ratio, valid, 0.1400 / 1.5).tolist() == [True, True, False, False]
    curve = train(replace(SHORT, target_kl=1e-6, lr=0.01), replace(named("kl_stop"), lr_anneal=False)).curve
    assert len(curve) > 6 and curve.steps_taken.tolist() == pytest.approx([1 / STEPS] * len(curve))


def test_a_loss_that_is_not_finite_ends_its_seed_though_it_comes_after_the_stop() -> None:
    log, two = Log(replace(SHORT, seeds=2, lanes=1)), torch.ones(2)
    for loss, taken in ((1.0, 1.0), (2.0, 0.0), (torch.nan, 0.0)):
        log.note(policy_loss=two * torch.tensor([loss, 3.0]), steps_taken=two * torch.tensor([taken, 1.0]))
    none = torch.zeros(2, 1, 1)
    no, one = none.bool(), torch.ones(2, 1, 1).bool()
    log.end_update(Rollout(torch.zeros(2, 2, 1, 1), one, none.long(), none, no, no, one, no, none, no))
    assert log.curve().policy_loss.tolist() == [1.5, 3] and log.active.tolist() == [False, True]
