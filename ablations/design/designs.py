"""Designs: which combinations of flags to train, and which pairs of them show what a trick does.

A design only lists arms; an arm that several designs share is trained once. Every arm meets its tricks' needs: a trick
that the chosen ones need but that is not chosen itself is on in all arms. To add a design, write a function here and
mark it as `registered`. It returns the arms together with everything that figures and sentences say about them.
"""

from collections.abc import Sequence

from ablations.design.around_presets import (
    SB3,
    around_continuous,
    beyond,
    beyond_normed,
    continuous,
    ppo,
    scales,
    without_it,
)
from ablations.design.crossed import factorial, screen
from ablations.design.labels import Label, added
from ablations.design.registry import DESIGNS, registered, start, what_is_needed
from ablations.design.story import Arm, Comparison, Design, Mark, Panels, Phrases
from tricks.ladder import closed, switched

__all__ = [
    "DESIGNS",
    "SB3",
    "add_one_in",
    "around_continuous",
    "beyond",
    "beyond_normed",
    "continuous",
    "factorial",
    "ladder",
    "leave_one_out",
    "ppo",
    "scales",
    "screen",
]


@registered
def ladder(names: Sequence[str]) -> Design:
    """Add one trick at a time, in teaching order. What a trick adds depends on that order."""
    base = what_is_needed(names)
    sets = [switched([*base, *names[:k]]) for k in range(len(names) + 1)]
    first = start(base)
    arms = [Arm(first, sets[0]), *(Arm(added([name]), on) for name, on in zip(names, sets[1:], strict=True))]
    return Design(
        "ladder",
        tuple(names),
        tuple(arms),
        tuple(Comparison(added([name]), sets[k], sets[k + 1]) for k, name in enumerate(names)),
        base=tuple(base),
        panels=Panels(
            f"From {first if base else 'REINFORCE'} up, one trick at a time",
            ("this rung, with all before it", "the rung before", "all other rungs"),
        ),
        mark=Mark("D", "◇", "on the rung before"),
        phrases=Phrases(
            climb="the ladder takes the area under the curve from {first} to {last}. Detected among its {count} steps: "
            "{seen}.",
            question="as the next rung",
            curves=", ladder",
        ),
        rank=2,
    )


@registered
def leave_one_out(names: Sequence[str]) -> Design:
    """The full set, and the set without each trick and whatever needs it. Is the trick still needed?"""
    base = what_is_needed(names)
    full = switched([*base, *names])
    pairs = [without_it(full, name) for name in names]
    return Design(
        "leave-one-out",
        tuple(names),
        (Arm(Label("all"), full), *(Arm(pair.label, pair.without) for pair in pairs)),
        tuple(pairs),
        base=tuple(base),
        panels=Panels(
            "All tricks, and without each one", ("without this trick", "with all tricks", "without another one")
        ),
        mark=Mark("s", "□", "in the full set"),
        phrases=Phrases(
            detected="when {a_trick} is taken out of the full set, with what needs it: {up} missed, "
            "{down} better left out",
            place="taken out of the full set",
            nowhere="when taken out",
            question="taken out of everything",
        ),
        rank=1,
    )


@registered
def add_one_in(names: Sequence[str]) -> Design:
    """The bare core, and the core with each trick and whatever it needs. Does the trick help alone?

    A trick with needs is compared to its needs alone, so that it gets no credit for them.
    """
    pairs = []
    for name in names:
        needs = [other for other in closed([name]) if other != name]
        pairs.append(Comparison(added([*needs, name]), switched(needs), switched([*needs, name])))
    arms = [Arm(start([]), switched([]))]
    for pair in pairs:
        needed = added(pair.without.on) if pair.without.on else arms[0].label
        arms += [Arm(needed, pair.without), Arm(pair.label, pair.having)]
    once = {arm.tricks: arm for arm in reversed(arms)}  # the needs of one trick can be the arm of another
    return Design(
        "add-one-in",
        tuple(names),
        tuple(dict.fromkeys(once[arm.tricks] for arm in arms)),
        tuple(pairs),
        panels=Panels(
            "REINFORCE, and each trick added to it alone",
            ("this trick, on what it needs", "what it needs", "other tricks"),
        ),
        mark=Mark("o", "○", "alone, on what it needs"),
        phrases=Phrases(
            detected="when {a_trick} is alone: {up} helping, {down} hurting",
            place="alone",
            nowhere="alone",
            question="alone, on REINFORCE",
            question_with="alone, on {others}",
        ),
    )
