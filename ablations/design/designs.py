"""Designs: which combinations of flags to train, and which pairs of them show what a trick does.

A design only lists arms; an arm that several designs share is trained once. Every arm meets its tricks' needs: a trick
that the chosen ones need but that is not chosen itself is on in all arms. To add a design, write a function here and
mark it as `registered`. It returns the arms together with everything that figures and sentences say about them.
"""

from collections.abc import Sequence
from dataclasses import replace

from ablations.design.crossed import factorial, screen
from ablations.design.flag_sets import SIGN, signed
from ablations.design.labels import Label, added, taken
from ablations.design.registry import DESIGNS, registered, start, what_is_needed
from ablations.design.story import Arm, Comparison, Design, Mark, Panels, Phrases
from tricks.ladder import CONTINUOUS, LADDER, NEEDS, PPO, Tricks, closed, named, switched

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

SB3 = replace(PPO, value_clip=False, lr_anneal=False, bootstrap=True)  # what stable-baselines3's PPO does by default
POPART = ("return_norm", "popart")
ON_TOP = ("with this trick", "without it", "the other arms")


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
    pairs = []
    for name in names:
        gone = [other for other in full.on if name in closed([other])]
        rest = switched([other for other in full.on if other not in gone])
        pairs.append(Comparison(taken(name, [other for other in gone if other != name]), rest, full))
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


@registered
def ppo(names: Sequence[str]) -> Design:
    """The preset `ppo` and the flags of stable-baselines3, to compare to published scores. `names` changes no arm."""
    arms = (Arm(Label("ppo"), PPO), Arm(Label("as stable-baselines3"), SB3))
    return Design("ppo", tuple(names), arms, published=True, own_arms=True)


@registered
def continuous(names: Sequence[str]) -> Design:
    """The preset `continuous`, to compare to published scores. `names` changes no arm."""
    arm = Arm(Label("continuous"), CONTINUOUS)
    return Design("continuous", tuple(names), (arm,), published=True, own_arms=True)


@registered
def around_continuous(names: Sequence[str]) -> Design:
    """The preset `continuous` without each of its tricks, and with each other one. `names` changes no arm.

    A trick is taken out with what needs it, and added with what it needs. Action masks are left out: no continuous
    action is illegal.
    """
    out, into = [], []
    for name in CONTINUOUS.on:
        gone = [other for other in CONTINUOUS.on if name in closed([other])]
        rest = switched([other for other in CONTINUOUS.on if other not in gone])
        out.append(Comparison(taken(name, [other for other in gone if other != name]), rest, CONTINUOUS))
    for name in NEEDS:
        if name not in (*CONTINUOUS.on, "action_mask"):
            needs = [other for other in closed([name]) if other not in (*CONTINUOUS.on, name)]
            without = switched([*CONTINUOUS.on, *needs])
            into.append(Comparison(added([*needs, name]), without, switched([*without.on, name])))
    arms = [Arm(Label("continuous"), CONTINUOUS), *(Arm(pair.label, pair.focus) for pair in (*out, *into))]
    return Design(
        "around-continuous",
        tuple(pair.trick for pair in (*out, *into)),
        tuple(arms),
        (*out, *into),
        panels=Panels("The preset continuous, without each of its tricks and with each other one", ON_TOP),
        mark=Mark("P", "✚", "in or on top of the preset continuous"),
        phrases=Phrases(base="`continuous`", question="in or on top of `continuous`", curves=""),
        rank=5,
        own_arms=True,
    )


@registered
def beyond(names: Sequence[str]) -> Design:
    """PPO, and each trick beyond the ladder on top of it, compared to PPO with whatever that trick needs."""
    design = _on_top_of(PPO, Label("ppo"), names)
    return replace(
        design,
        name="beyond",
        panels=Panels("PPO, and what goes beyond the ladder", ON_TOP),
        mark=Mark("v", "▽", "on PPO, with what it needs"),
        phrases=Phrases(base="`ppo`", question="on top of PPO", curves=""),
        rank=3,
    )


@registered
def beyond_normed(names: Sequence[str]) -> Design:
    """`beyond`, on PPO with `return_norm`: these tricks weigh a value loss, in units of return, against the policy."""
    design = _on_top_of(replace(PPO, return_norm=True), added(["return_norm"]), names)
    return replace(
        design,
        name="beyond-normed",
        panels=Panels("PPO with return_norm, and what goes beyond the ladder", ON_TOP),
        mark=Mark("^", "△", "on PPO with return_norm"),
        phrases=Phrases(base="`ppo` with `return_norm`", question="on top of PPO", curves=", return_norm"),
        rank=4,
    )


@registered
def scales(names: Sequence[str]) -> Design:
    """PPO, and three ways to handle rewards of very different sizes. `names` changes no arm.

    Only the sign of each reward (Mnih et al. 2015, 10.1038/nature14236), returns in units of their deviation, and those
    with the value net's outputs preserved (van Hasselt et al. 2016, arXiv:1602.07714).
    """
    sign, normed, preserved = signed(PPO.on), switched([*PPO.on, "return_norm"]), switched([*PPO.on, *POPART])
    pairs = (
        Comparison(added([SIGN]), PPO, sign),
        Comparison(added(POPART[:1]), PPO, normed),
        Comparison(added(POPART), normed, preserved),
    )
    return Design(
        "scales",
        POPART,
        (Arm(Label("ppo"), PPO), *(Arm(pair.label, pair.having) for pair in pairs)),
        pairs,
        panels=Panels("PPO, and ways to handle rewards of different sizes", ON_TOP),
        mark=Mark("P", "✚", "on PPO, against large rewards"),
        phrases=Phrases(base="`ppo`", question="on top of PPO", curves=", scales"),
        rank=5,
        own_arms=True,
    )


def _on_top_of(base: Tricks, first: Label, names: Sequence[str]) -> Design:
    """The base, by the label of its arm, and each trick from beyond the ladder against it with what the trick needs.

    Those among the names; all of them, if none is.
    """
    every = [name for name in NEEDS if name not in LADDER]
    pairs = []
    for name in [name for name in every if name in names] or every:
        having = switched([*base.on, *named(name).on])
        others = [other for other in having.on if other not in (*PPO.on, name)]
        without = switched([other for other in having.on if other != name])
        pairs.append(Comparison(added([*others, name]), without, having))
    arms = [Arm(first, base), *(Arm(pair.label, pair.having) for pair in pairs)]
    return Design("", tuple(pair.trick for pair in pairs), tuple(arms), tuple(pairs), own_arms=True)
