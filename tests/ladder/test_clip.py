"""clip, dual_clip, value_clip, huber, grad_clip, kl_stop: each limits what it is to limit, on its own side."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tricks import Config, named, train
from tricks.baseline import squared_error
from tricks.clip import clip_fraction, clipped_surrogate
from tricks.core.rollout import Rollout
from tricks.dual_clip import bounded_below, bounded_fraction
from tricks.grad_clip import shorten
from tricks.huber import linear_beyond
from tricks.kl_stop import near_enough
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


def test_shares_count_valid_rows_beyond_a_limit_and_a_gradient_as_short_as_the_constant_beside_it_is_halved() -> None:
    valid = torch.tensor([[True, True, True, False]])
    assert clip_fraction(row(1.3, 1.1, 0.7, 9), torch.tensor([0.2]), valid).item() == pytest.approx(2 / 3)
    assert clip_fraction(row(1.25, 0.75, 1.26, 0.74), torch.tensor([0.25]), ALL).tolist() == [0.5]
    valid = torch.tensor([[True, True, False, True]])
    assert bounded_fraction(row(5, 2, 0.5, 5), BAD, 3.0, valid).item() == pytest.approx(1 / 3)
    assert bounded_fraction(row(3, 9, 9), row(-1, 0, -1), 3.0, ALL[:, :3]).item() == pytest.approx(1 / 3)
    halved = shorten(torch.tensor([[1e-6, 0.0]]), torch.tensor([1e-6]), 1e-6)
    torch.testing.assert_close(halved, torch.tensor([[5e-7, 0.0]]), rtol=1e-5, atol=0)


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
