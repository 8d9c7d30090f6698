"""Designs around any base, with the base's numbers in all arms: what its tricks do, and what others would."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ablations.design.arms import Arm, Comparison, Design
from ablations.design.crossed import combinations, crossed
from ablations.design.labels import Label, added, taken
from tricks.errors import InputError
from tricks.ladder import EXCLUDES, NEEDS, Tricks, closed, switched

Maker = Callable[[Arm, Sequence[str]], Design]


def leave_one_out(base: Arm, names: Sequence[str] = ()) -> Design:
    """The base, and the base without each of its tricks, or of these, and whatever needs it."""
    if off := [name for name in names if name not in base.tricks.on]:
        raise InputError(f"{base.name} does not have {', '.join(off)}, so it cannot be left out")
    pairs = [without_it(base.tricks, name) for name in names or base.tricks.on]
    return _made("leave-one-out", base, pairs)


def add_one_in(base: Arm, names: Sequence[str] = ()) -> Design:
    """The base, and the base with each trick that it lacks, or of these, compared to the base with what that needs."""
    if on := [name for name in names if name in base.tricks.on]:
        raise InputError(f"{base.name} already has {', '.join(on)}, so it cannot be added")
    fitting = [name for name in NEEDS if name not in base.tricks.on and _fits(base.tricks, name)]
    return _made("add-one-in", base, [with_it(base.tricks, name, base.tricks.on) for name in names or fitting])


def ladder(base: Arm, names: Sequence[str] = (), first: Label | None = None) -> Design:
    """From the base without its tricks, or without these, up to the base, one trick at a time.

    All tricks come in teaching order, and `names` in theirs. first: the label of the first arm. Raises InputError if a
    step on the way lacks what it needs.
    """
    on, wanted = base.tricks.on, names or base.tricks.on
    if missing := [name for name in wanted if name not in on]:
        raise InputError(f"{base.name} does not have {', '.join(missing)}")
    chosen, start = [*wanted], [name for name in on if name not in wanted]
    if resting := [name for name in start if not {*closed([name])}.isdisjoint(chosen)]:
        every = ",".join(name for name in on if name in (*chosen, *resting))
        raise InputError(
            f"this ladder starts without {' and '.join(chosen)}, which {' and '.join(resting)} of {base.name} "
            f"{'needs' if len(resting) == 1 else 'need'}; add them with --tricks {every}"
        )
    try:
        sets = [switched([*start, *chosen[:k]]) for k in range(len(chosen) + 1)]
    except InputError as error:
        order = ",".join(name for name in on if name in wanted)
        raise InputError(f"in this order, {str(error).split(': add')[0]}; try --tricks {order}") from error
    pairs = [Comparison(added([name]), sets[k], sets[k + 1]) for k, name in enumerate(chosen)]
    only, without = f"only {', '.join(start)} of {base.name}", f"{base.name} without {', '.join(chosen)}"
    label = first or Label((only if len(start) < len(chosen) else without) if start else "reinforce")
    return replace(_made("ladder", Arm(label, sets[0], base.numbers), pairs), name=f"ladder of {base.name}")


def factorial(base: Arm, names: Sequence[str] = ()) -> Design:
    """The base with every combination of a few tricks on and off; combinations that break a need are dropped."""
    rest = [name for name in base.tricks.on if name not in names]
    rows, first = combinations(names), Label("none of them")
    return crossed(f"factorial around {base.name}", names, rows, "whole", rest, first, base.numbers)


AROUND: dict[str, Maker] = {
    "leave-one-out": leave_one_out,
    "add-one-in": add_one_in,
    "ladder": ladder,
    "factorial": factorial,
}


def without_it(full: Tricks, name: str) -> Comparison:
    """The full set, and the set without a trick and whatever needs it."""
    gone = [other for other in full.on if name in closed([other])]
    rest = switched([other for other in full.on if other not in gone])
    return Comparison(taken(name, [other for other in gone if other != name]), rest, full)


def with_it(base: Tricks, name: str, known: Sequence[str]) -> Comparison:
    """The base with what a trick needs, and the trick on top. The label names the flags that aren't `known`."""
    having = switched(closed([*base.on, name]))
    others = [other for other in having.on if other not in (*known, name)]
    return Comparison(added([*others, name]), switched([other for other in having.on if other != name]), having)


def _fits(base: Tricks, name: str) -> bool:
    """Whether a trick can be added: nothing that is on, or that it needs, excludes it."""
    on = {*base.on, *closed([name])}
    return not any(on & {*EXCLUDES[each]} for each in on)


def _made(name: str, base: Arm, pairs: Sequence[Comparison]) -> Design:
    """The base's arm, and both arms of each comparison, each once."""
    arms = {base.tricks: base}
    for pair in pairs:
        if pair.reference not in arms:
            extra = [each for each in pair.reference.on if each not in base.tricks.on]
            arms[pair.reference] = Arm(added(extra), pair.reference, base.numbers)
        if pair.focus not in arms:
            arms[pair.focus] = Arm(pair.label, pair.focus, base.numbers)
    return Design(f"{name} of {base.name}", tuple(pair.trick for pair in pairs), tuple(arms.values()), tuple(pairs))


def references_of(design: Design) -> Mapping[str, str]:
    """Which arm each arm of a design is compared to, by name. Raises InputError for one that it lacks or has twice."""
    by_tricks: dict[Tricks, list[str]] = {}
    for arm in design.arms:
        by_tricks.setdefault(arm.tricks, []).append(arm.name)

    def name_of(side: Tricks | Arm) -> str:
        names = [arm.name for arm in design.arms if arm == side] if isinstance(side, Arm) else by_tricks.get(side, [])
        if len(names) != 1:
            what = side.name if isinstance(side, Arm) else ", ".join(side.on) or "reinforce"
            why = "has several arms with the flags" if names else "compares an arm that it does not have,"
            raise InputError(f"the design {design.name!r} {why} {what}")
        return names[0]

    pairs = [(name_of(pair.focus), name_of(pair.reference)) for pair in design.comparisons]
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise InputError(
                f"the design {design.name!r} compares the arm {name} {count} times; an arm has one reference"
            )
    return dict(pairs)
