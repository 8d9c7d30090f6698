"""The random design: legal sets of flags and numbers drawn from stated ranges.

Each set of flags trains with several draws of numbers, side by side in one stack. Only fractional numbers vary within a
stack; epochs, minibatches and the size of a batch are drawn once for each. After the study of Andrychowicz et al. 2020,
arXiv:2006.05990, which had other choices and ranges.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log
from typing import Any, NamedTuple

import numpy as np

from ablations.design.registry import what_is_needed
from tricks.config import Config
from tricks.ladder import EXCLUDES, NEEDS, Tricks, switched

PER_SET = 10  # draws of numbers for each set of flags
ON = 2 / 3  # how often a flag is on if its needs are; half of the time would leave few sets with the last of a chain
RANGES = {  # drawn log-uniformly
    "lr": (1e-4, 3e-2),
    "clip_range": (0.05, 0.8),
    "value_clip_range": (0.05, 0.8),
    "entropy_coef": (1e-4, 0.1),
    "value_coef": (0.1, 2.0),
    "max_grad_norm": (0.1, 10.0),
    "return_beta": (0.01, 1.0),
}
VALUES: dict[str, tuple[float, ...]] = {
    "gamma": (0.95, 0.98, 0.99, 0.995, 0.999),
    "gae_lambda": (0.5, 0.8, 0.9, 0.95, 1),
}
WHOLE: dict[str, tuple[int, ...]] = {
    "epochs": (1, 3, 5, 10),
    "minibatches": (1, 4, 16),
    "lanes": (8, 32),
    "horizon": (32, 128),
}


class Drawn(NamedTuple):
    """A set of flags and the numbers of its agents."""

    tricks: Tricks
    config: Config


def drawn(base: Config, names: Sequence[str], sets: int) -> Iterator[Drawn]:
    """So many sets of flags out of `names`, each with PER_SET draws of numbers, seeds 0, 1, 2, ... over all.

    What the names need, but do not contain, is always on. The first sets are the same however many are drawn.
    """
    needed = what_is_needed(names)
    for k in range(sets):
        rng = np.random.default_rng([2020, k])
        tricks = legal(rng, names, needed)
        numbers: dict[str, Any] = {
            name: tuple(float(f"{x:.3g}") for x in np.exp(rng.uniform(log(ends[0]), log(ends[1]), PER_SET)))
            for name, ends in RANGES.items()
        }
        numbers |= {name: tuple(float(x) for x in rng.choice(values, PER_SET)) for name, values in VALUES.items()}
        numbers |= {name: int(rng.choice(values)) for name, values in WHOLE.items()}
        seeds = tuple(range(k * PER_SET, (k + 1) * PER_SET))
        yield Drawn(tricks, replace(base, seeds=seeds, **numbers))


def legal(rng: np.random.Generator, names: Sequence[str], needed: Sequence[str] = ()) -> Tricks:
    """A random legal set of these flags and all that are `needed`.

    In ladder order, each is on with probability ON if its needs are.
    """
    on = list(needed)
    for name, chance in zip(names, rng.random(len(names)), strict=True):
        if chance < ON and {*NEEDS[name]} <= {*on} and not {*EXCLUDES[name]} & {*on}:
            on.append(name)
    return switched(on)
