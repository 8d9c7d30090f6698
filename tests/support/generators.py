"""Environments whose random numbers no seed reaches."""

from typing import Any

import numpy as np
from support.any_space import AnySpace

RNG = np.random.default_rng()


class InModule(AnySpace):
    def paid(self, action: Any) -> float:
        return float(RNG.uniform())


class InClass(AnySpace):
    rng = np.random.RandomState(0)

    def paid(self, action: Any) -> float:
        return float(self.rng.uniform())


class Unseeded(AnySpace):
    """Begins where a generator of its own says, whatever the seed."""

    def __init__(self) -> None:
        super().__init__()
        self.own = np.random.default_rng()

    def reset(self, **options: Any) -> Any:
        _, info = super().reset(**options)
        return self.own.uniform(-1, 1, 3).astype(np.float32), info
