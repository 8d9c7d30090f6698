"""Designs that cross tricks: all combinations of a few, or a balanced fraction of the combinations of many."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Literal

import numpy as np

from ablations.design.arms import Arm, Design, Pairs
from ablations.design.labels import Label, added
from ablations.design.registry import registered, start, what_is_needed
from tricks.errors import InputError
from tricks.ladder import NEEDS, switched

MOST_FACTORS = 5  # of a factorial: 32 arms


@registered
def factorial(names: Sequence[str]) -> Design:
    """Every combination of at most five tricks: exact effects and interactions."""
    base = what_is_needed(names)
    return crossed("factorial", names, combinations(names), "whole", base, start(base))


@registered
def screen(names: Sequence[str]) -> Design:
    """A fold-over of a Hadamard matrix, resolution IV: main effects clear of pairwise ones. Plackett & Burman 1946.

    Out of all tricks, it crosses those that no other trick needs. The tricks that they need are on in all arms.
    """
    from scipy.linalg import hadamard

    if set(names) >= {need for name in names for need in NEEDS[name]}:  # else few arms would meet all needs
        names = [name for name in names if not any(name in NEEDS[other] for other in names)]
    if len(names) < 2:
        raise InputError(f"a screen takes at least 2 tricks, not {len(names)}")
    order = 2 ** len(names).bit_length()
    half = hadamard(order)[:, 1 : len(names) + 1]
    base = what_is_needed(names)
    return crossed("screen", names, np.vstack([half, -half]) > 0, "fraction", base, start(base))


def combinations(names: Sequence[str]) -> Iterable[Sequence[bool]]:
    """Every combination of these tricks on and off. Raises InputError for too few or too many."""
    if not 2 <= len(names) <= MOST_FACTORS:
        raise InputError(f"a factorial takes 2 to {MOST_FACTORS} tricks, not {len(names)}: --tricks clip,gae,entropy")
    return product((False, True), repeat=len(names))


def crossed(
    name: str,
    factors: Sequence[str],
    rows: Iterable[Sequence[bool]],
    kind: Literal["whole", "fraction"],
    base: Sequence[str],
    first: Label,
    numbers: Pairs = (),
) -> Design:
    """One arm per row of flags, on top of the base's. Arms that break a need are dropped.

    first: the label of the arm that has only the base's flags. numbers: of all arms.
    """
    arms, dropped = [], []
    for row in rows:
        on = [factor for factor, is_on in zip(factors, row, strict=True) if is_on]
        label = added(on) if on else first
        try:
            arms.append(Arm(label, switched([*base, *on]), numbers))
        except InputError as error:
            dropped.append((str(label), error.fault))
    return Design(name, tuple(factors), tuple(arms), dropped=tuple(dropped), base=tuple(base), crossed=kind)
