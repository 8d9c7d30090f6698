"""clip_higher: the ratio's upper limit is a number of its own, so that rare actions have room to grow."""

from typing import Any

from torch import Tensor

from tricks.core.reductions import mean

OF_POLICY = ("clip_high_fraction",)  # see `runs/log`


def clipped_apart(ratio: Tensor, advantage: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """min(ρ·A, clip(ρ, 1 − ε_low, 1 + ε_high)·A). ratio, advantage [S, B], ε_low and ε_high [S] -> [S, B].

    With one ε = 0.2, an action of probability 0.01 reaches 0.012 in one batch, and one of 0.9 may reach 1. Yu et al.
    2025 (DAPO), arXiv:2503.14476, eq. 10.
    """
    limited = ratio.clamp((1 - low).unsqueeze(1), (1 + high).unsqueeze(1))
    return (ratio * advantage).minimum(limited * advantage)


def noted(facts: Any) -> dict[str, Tensor]:
    """The share of valid rows above 1 + ε_high, [S]; `clip_fraction` counts both sides of `clip_range`."""
    above = facts.ratio.detach() > 1 + facts.t.clip_high.unsqueeze(1)
    return {"clip_high_fraction": mean(above.float(), facts.b.valid)}
