"""Designs around any base, with the base's numbers in all arms, and designs that cross tricks."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise, product

from ablations.question.arms import Arm, Comparison, Design, Label, added, levels_of, taken
from tricks.errors import InputError
from tricks.ladder import EXCLUDES, NEEDS, Tricks, closed, switched

MOST_FACTORS = 5  # of a factorial: 32 arms


def leave_one_out(base: Arm, names: Sequence[str] = ()) -> Design:
    """The base, and the base without each of its tricks, or of these, and whatever needs it."""
    if off := [name for name in names if name not in base.tricks.on]:
        raise InputError(f"{base.name} does not have {', '.join(off)}, so it cannot be left out")
    pairs = [without_it(base, name) for name in names or base.tricks.on]
    return of_pairs(f"leave-one-out of {base.name}", base, pairs)


def add_one_in(base: Arm, names: Sequence[str] = ()) -> Design:
    """The base, and the base with each trick that it lacks, or of these, compared to the base with what that needs."""
    if on := [name for name in names if name in base.tricks.on]:
        raise InputError(f"{base.name} already has {', '.join(on)}, so it cannot be added")
    every = names or [name for name in NEEDS if name not in base.tricks.on and fits(base.tricks, name)]
    return of_pairs(f"add-one-in of {base.name}", base, [with_it(base, name, base.tricks.on) for name in every])


def ladder(base: Arm, names: Sequence[str] = (), first: Label | None = None) -> Design:
    """From the base without its tricks, or without these, up to the base, one trick at a time.

    All tricks come in teaching order, and `names` in theirs. first: the label of the first arm. Raises InputError if a
    step on the way lacks what it needs.
    """
    on, chosen = base.tricks.on, [*(names or base.tricks.on)]
    if missing := [name for name in chosen if name not in on]:
        raise InputError(f"{base.name} does not have {', '.join(missing)}")
    start = [name for name in on if name not in chosen]
    try:
        sets = [switched([*start, *chosen[:k]]) for k in range(len(chosen) + 1)]
    except InputError as error:
        order = ",".join(name for name in on if not {*closed([name])}.isdisjoint(chosen))  # with what needs them
        raise InputError(f"in this order, {error.fault}; try --tricks {order}") from error
    only, without = f"only {', '.join(start)} of {base.name}", f"{base.name} without {', '.join(chosen)}"
    label = first or Label((only if len(start) < len(chosen) else without) if start else "reinforce")
    labels = [label, *(added([name]) for name in chosen)]
    arms = [base.like(each, tricks) for each, tricks in zip(labels, sets, strict=True)]
    pairs = [Comparison(high.label, low, high) for low, high in pairwise(arms)]
    return of_pairs(f"ladder of {base.name}", arms[0], pairs)


def factorial(base: Arm, names: Sequence[str] = (), first: Label | None = None) -> Design:
    """The base with every combination of a few tricks on and off; combinations that break a need are dropped.

    A name is a flag, or a number with two values, `epochs=1/10`, of which the second counts as on. first: the label of
    the arm without them. Raises InputError for too few or too many tricks.
    """
    if not 2 <= len(names) <= MOST_FACTORS:
        raise InputError(f"a factorial takes 2 to {MOST_FACTORS} tricks, not {len(names)}: --tricks clip,gae,entropy")
    arms, dropped, levels = [], [], {factor: levels_of(factor) for factor in names}
    rest = [flag for flag in base.tricks.on if flag not in names]
    for row in product((False, True), repeat=len(names)):
        on = [factor for factor, is_on in zip(names, row, strict=True) if is_on]
        said = [f if (level := levels[f]) is None else f"{level[0]}={level[2]:g}" for f in on]
        label = added(said) if on else first or Label("none of them")
        own = {found[0]: found[1 + is_on] for f, is_on in zip(names, row, strict=True) if (found := levels[f])}
        try:
            arms.append(Arm(label, switched([*rest, *(f for f in on if not levels[f])]), dict(base.numbers) | own))
        except InputError as error:
            dropped.append((str(label), error.fault))
    name = f"factorial around {base.name}"
    return Design(name, tuple(names), tuple(arms), dropped=tuple(dropped), base=tuple(rest), crossed=True)


AROUND: dict[str, Callable[[Arm, Sequence[str]], Design]] = {
    make.__name__.replace("_", "-"): make for make in (leave_one_out, add_one_in, ladder, factorial)
}


def of_pairs(name: str, base: Arm, pairs: Sequence[Comparison], own_arms: bool = False) -> Design:
    """The base's arm, and both arms of each comparison, each once. own_arms: as of a `Design`."""
    arms = dict.fromkeys([base, *(arm for pair in pairs for arm in (pair.reference, pair.focus))])
    return Design(name, tuple(pair.trick for pair in pairs), tuple(arms), tuple(pairs), own_arms=own_arms)


def without_it(full: Arm, name: str) -> Comparison:
    """The full set, and the set without a trick and whatever needs it."""
    gone = [other for other in full.tricks.on if name in closed([other])]
    label = taken(name, [other for other in gone if other != name])
    return Comparison(label, full.like(label, switched({*full.tricks.on} - {*gone})), full)


def with_it(base: Arm, name: str, known: Sequence[str]) -> Comparison:
    """The base with what a trick needs, and the trick on top. The label names the flags that aren't `known`."""
    on = switched(closed([*base.tricks.on, name])).on
    rest, extra = [other for other in on if other != name], [other for other in on if other not in base.tricks.on]
    label = added([*(other for other in rest if other not in known), name])
    needed = [other for other in extra if other != name]
    without = base.like(added(needed), switched(rest)) if needed else base
    return Comparison(label, without, base.like(label, switched(on)))


def fits(base: Tricks, name: str) -> bool:
    """Whether a trick can be added: nothing that is on, or that it needs, excludes it."""
    on = {*base.on, *closed([name])}
    return not any(on & {*EXCLUDES[each]} for each in on)


def arm_by_arm(design: Design) -> Design:
    """The design as a question of one's own: each arm minus its reference, by its name, also where it lacks a trick.

    Without comparisons, all are compared to the first arm. Raises InputError for a reference that it lacks, or for an
    arm that has two.
    """
    own, (first, *others) = {arm: arm for arm in design.arms}, design.arms
    pairs = [(pair.focus, pair.reference) for pair in design.comparisons] or [(arm, first) for arm in others]
    if unknown := [arm for pair in pairs for arm in pair if arm not in own]:
        raise InputError(f"the design {design.name!r} compares an arm that it does not have, {unknown[0].name}")
    for arm, count in Counter(arm for arm, _ in pairs).items():
        if count > 1:
            said = f"compares the arm {own[arm].name} {count} times; an arm has one reference"
            raise InputError(f"the design {design.name!r} {said}")
    plain = [Comparison(Label(own[arm].name), own[reference], own[arm]) for arm, reference in pairs]
    return replace(design, comparisons=tuple(plain))
