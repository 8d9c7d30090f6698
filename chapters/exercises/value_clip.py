"""Exercises of the chapter on value clipping."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.baseline import squared_error
from tricks.huber import linear_beyond


def cautious_error(value: Tensor, old: Tensor, target: Tensor, clip_range: float) -> Tensor:
    """The error of every row, with V held near its old prediction. value, old, target [S, B] -> [S, B]."""
    near = old + (value - old).clamp(-clip_range, clip_range)
    return torch.minimum(squared_error(value, target), squared_error(near, target))


def _parts(value: Tensor, old: Tensor, target: Tensor, clip_range: float) -> tuple[Tensor, Tensor, Tensor]:
    """The prediction near the old one, whether V has left the range, and whether the plain error is the smaller one."""
    near = old + (value - old).clamp(-clip_range, clip_range)
    return near, (value - old).abs() > clip_range, (value - target).abs() < (near - target).abs()


def _right(value: Tensor, old: Tensor, target: Tensor, clip_range: float) -> Tensor:
    _, left, smaller = _parts(value, old, target, clip_range)
    return torch.where(left & smaller, 0.0, value - target)


def _of_smaller(value: Tensor, old: Tensor, target: Tensor, clip_range: float) -> Tensor:
    _, left, smaller = _parts(value, old, target, clip_range)
    return torch.where(left & ~smaller, 0.0, value - target)


def _none_inside(value: Tensor, old: Tensor, target: Tensor, clip_range: float) -> Tensor:
    _, left, smaller = _parts(value, old, target, clip_range)
    return torch.where(left & ~smaller, value - target, 0.0)


def _near_slope(value: Tensor, old: Tensor, target: Tensor, clip_range: float) -> Tensor:
    near, left, smaller = _parts(value, old, target, clip_range)
    return torch.where(left & smaller, near, value) - target


def _none_beyond(value: Tensor, old: Tensor, target: Tensor, clip_range: float) -> Tensor:
    near, left, _ = _parts(value, old, target, clip_range)
    return torch.where(left & ((target - near) * (value - old) > 0), 0.0, value - target)


def _exact(numbers: Tensor) -> Tensor:
    """Rounded, so that V_old + (V − V_old) is V to the last digit, and both errors are equal within the range."""
    return (64 * numbers).round() / 64


check_slope = Exercise(
    _right,
    cases=(
        {
            "value": torch.tensor([1.0, 1.0, 0.1]),
            "old": torch.zeros(3),
            "target": torch.tensor([2.0, 0.0, 2.0]),
            "clip_range": 0.2,
        },
        {
            "value": torch.tensor([10.0, 11.0, 9.0]),
            "old": torch.full((3,), 10.0),
            "target": torch.full((3,), 12.0),
            "clip_range": 0.5,
        },
        {
            "value": torch.tensor([-3.0, 1.0]),
            "old": torch.tensor([-2.0, 0.0]),
            "target": torch.tensor([-2.1, 0.4]),
            "clip_range": 0.2,
        },
    ),
    mistakes={
        "this is the slope of the smaller error. A pessimist takes the larger.": _of_smaller,
        "this is zero wherever V has left the range. Which error is larger where V moved away from its target?": (
            lambda v, o, t, e: torch.where((v - o).abs() > e, 0.0, v - t)
        ),
        "this is zero within the range. There both errors are the same: do they depend on V?": _none_inside,
        "where the clipped error is larger, you take its distance from the target. How does it change with V?": (
            _near_slope
        ),
        "this is zero wherever the target is out of reach. What if V has overshot it by far?": _none_beyond,
        "this is twice the slope. What does the factor ½ do to the derivative of a square?": (
            lambda v, o, t, e: 2 * _right(v, o, t, e)
        ),
    },
    drawn=lambda d: {
        "value": _exact(d.tensor(6)),
        "old": _exact(d.tensor(6)),
        "target": d.tensor(6),
        "clip_range": d.number(0.1, 0.9),
    },
)


def _huber(error: Tensor, delta: float) -> Tensor:
    return linear_beyond(0.5 * error.square(), delta)


check_huber = Exercise(
    _huber,
    cases=(
        {"error": torch.tensor([0.5, -0.5, 3.0, -4.0]), "delta": 1.0},
        {"error": torch.tensor([0.3, 20.0, -1.0]), "delta": 0.5},
        {"error": torch.tensor([2.0, -3.0, 7.0]), "delta": 2.5},
    ),
    mistakes={
        "the two pieces don't meet at δ: there, ½δ² and δ·δ differ. What has to be taken off the line?": (
            lambda e, d: torch.where(e.abs() <= d, 0.5 * e.square(), d * e.abs())
        ),
        "beyond δ the slope should stay δ, as steep as the parabola is there.": (
            lambda e, d: torch.where(e.abs() <= d, 0.5 * e.square(), e.abs() - 0.5 * d)
        ),
        "this is constant beyond δ, so a far-off row has no gradient. It should keep a pull of δ.": (
            lambda e, d: 0.5 * e.clamp(-d, d).square()
        ),
        "the factor ½ of the parabola is missing.": (
            lambda e, d: torch.where(e.abs() <= d, e.square(), d * (e.abs() - 0.5 * d))
        ),
        "this is PyTorch's smooth_l1_loss, which divides Huber's loss by δ.": lambda e, d: _huber(e, d) / d,
        "it is the *distance* from 0 that counts: an error of −4 is as far off as one of 4.": (
            lambda e, d: torch.where(e <= d, 0.5 * e.square(), d * (e - 0.5 * d))
        ),
    },
    drawn=lambda d: {"error": d.tensor(6, low=-9.0, high=9.0), "delta": d.number(0.3, 3.0)},
    gradients=("error",),
)
