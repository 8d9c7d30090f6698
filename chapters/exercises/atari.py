"""Exercises of the chapter on Atari."""

import math
from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from chapters.book.exercise import Exercise
from tricks.core.rollout import Player, Policy, Rollout
from tricks.segments import play_segment

Layers = Sequence[tuple[int, int]]


def segment_with_scores(player: Player, policy: Policy, length: int, active: Tensor) -> Rollout:
    """A segment, and for the learning curve the rewards of its rows and where an episode ended."""
    rollout = play_segment(player, policy, length, active)
    return replace(rollout, score=rollout.reward.double(), over=rollout.terminated | rollout.truncated)


def _right(layers: Layers) -> int:
    field, apart = 1, 1
    for kernel, stride in layers:
        field += (kernel - 1) * apart
        apart *= stride
    return field


def _wrong_end(layers: Layers) -> int:
    field = 1
    for kernel, stride in layers:
        field = (field - 1) * stride + kernel
    return field


check_field = Exercise(
    _right,
    cases=({"layers": [(8, 4), (4, 2), (3, 1)]}, {"layers": [(3, 1)]}, {"layers": [(5, 3), (3, 2), (3, 2), (2, 1)]}),
    mistakes={
        "a kernel of k places reaches k − 1 steps beyond its first.": lambda layers: _right(
            [(k + 1, s) for k, s in layers]
        ),
        "the strides are missing: neighbors in the second layer are not neighbors in the picture.": (
            lambda layers: 1 + sum(kernel - 1 for kernel, _ in layers)
        ),
        "the distance between two neighbors is the product of the strides of all earlier layers.": (
            lambda layers: 1 + sum((kernel - 1) * stride for kernel, stride in layers)
        ),
        "a layer's own stride sets its outputs apart, not the inputs of its kernel.": (
            lambda layers: _right([each for k, s in layers for each in ((1, s), (k, 1))])
        ),
        "this recursion works back from the last layer, but you start it at the picture.": _wrong_end,
        "fields do not multiply: neighboring kernels overlap.": lambda layers: math.prod(k for k, _ in layers),
    },
    drawn=lambda d: {"layers": [(d.whole(2, 6), d.whole(2, 4)) for _ in range(d.whole(2, 4))]},
)
