"""Noise for worlds, from numbers that are uniform in [0, 1)."""

from torch import Tensor


def noise(chance: Tensor, deviation: float) -> Tensor:
    """Uniform noise with mean 0 and standard deviation σ: √12 σ (u − ½). Same shape as chance."""
    return deviation * 12**0.5 * (chance - 0.5)
