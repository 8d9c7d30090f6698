"""Exercises of the chapter on value clipping."""

import torch
from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.baseline import squared_error
from tricks.huber import linear_beyond
from tricks.value_clip import clipped_error


def cautious_error(value: Tensor, old: Tensor, target: Tensor, clip_range: float) -> Tensor:
    """The error of every row, with V held near its old prediction. value, old, target [S, B] -> [S, B]."""
    near = old + (value - old).clamp(-clip_range, clip_range)
    return torch.minimum(squared_error(value, target), squared_error(near, target))


def _around_zero(value: Tensor, old: Tensor, target: Tensor, clip_range: float) -> Tensor:
    near = value.clamp(-clip_range, clip_range)
    return torch.maximum(squared_error(value, target), squared_error(near, target))


def _bare_difference(value: Tensor, old: Tensor, target: Tensor, clip_range: float) -> Tensor:
    near = (value - old).clamp(-clip_range, clip_range)
    return torch.maximum(squared_error(value, target), squared_error(near, target))


check_error = Exercise(
    clipped_error,
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
        {"value": torch.tensor([-3.0]), "old": torch.tensor([-2.0]), "target": torch.tensor([-2.1]), "clip_range": 0.2},
    ),
    mistakes={
        "this takes the smaller of the two errors. A pessimist takes the larger.": cautious_error,
        "this limits V itself to ±ε. Limit its *change* since V_old.": _around_zero,
        "this is only the clipped error. Where V moved away from its target, the plain one is larger.": (
            lambda v, o, t, e: squared_error(o + (v - o).clamp(-e, e), t)
        ),
        "this clips only the change, and V_old is missing: near = V_old + clip(V − V_old, ±ε).": _bare_difference,
        "this holds the target near V_old. Leave the target, and hold the prediction.": (
            lambda v, o, t, e: squared_error(v, o + (t - o).clamp(-e, e))
        ),
        "the factor ½ is missing.": lambda v, o, t, e: 2 * clipped_error(v, o, t, e),
    },
    drawn=lambda d: {"value": d.tensor(6), "old": d.tensor(6), "target": d.tensor(6), "clip_range": d.number(0.1, 0.9)},
    gradients=("value",),
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
