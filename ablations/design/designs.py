"""Designs by name: which combinations of flags to train, and which pairs of them show what a trick does.

A design only lists arms; an arm that several designs share is trained once. Every arm meets its tricks' needs: a trick
that the chosen ones need but that is not chosen itself is on in all arms. To add a design, write a function that
returns one and mark it as `registered`.
"""

from collections.abc import Sequence
from dataclasses import replace

from ablations.design import around
from ablations.design.arms import Arm, Design
from ablations.design.crossed import factorial, screen
from ablations.design.registry import DESIGNS, registered, start, what_is_needed
from tricks.ladder import REINFORCE, switched

__all__ = ["DESIGNS", "add_one_in", "factorial", "ladder", "leave_one_out", "screen"]


@registered
def ladder(names: Sequence[str]) -> Design:
    """Add one trick at a time, in teaching order. What a trick adds depends on that order."""
    base = what_is_needed(names)
    made = around.ladder(Arm("all", switched([*base, *names])), names, start(base))
    return replace(made, name="ladder", base=tuple(base))


@registered
def leave_one_out(names: Sequence[str]) -> Design:
    """The full set, and the set without each trick and whatever needs it. Is the trick still needed?"""
    base = what_is_needed(names)
    made = around.leave_one_out(Arm("all", switched([*base, *names])), names)
    return replace(made, name="leave-one-out", base=tuple(base))


@registered
def add_one_in(names: Sequence[str]) -> Design:
    """The bare core, and the core with each trick and whatever it needs. Does the trick help alone?

    A trick with needs is compared to its needs alone, so that it gets no credit for them.
    """
    return replace(around.add_one_in(Arm(start([]), REINFORCE), names), name="add-one-in")
