"""Chance as worlds need it, from numbers that are uniform in [0, 1)."""

from torch import Tensor


def noise(chance: Tensor, deviation: float) -> Tensor:
    """Uniform noise of mean 0 and this standard deviation: √12 σ (u − ½). Of chance's shape."""
    return deviation * 12**0.5 * (chance - 0.5)
