"""Our designs around presets: published scores, what goes beyond the ladder, and what a preset's own tricks do."""

from collections.abc import Sequence
from dataclasses import replace

from ablations.question.arms import SIGN, Arm, Comparison, Design, added, compared, own_numbers
from ablations.question.around import fits, of_pairs, with_it, without_it
from ablations.question.designs import registered
from tricks.config import CONTINUOUS_CONFIG
from tricks.ladder import CLEANRL, CONTINUOUS, LADDER, NEEDS, PPO, REINFORCE, SB3, closed, switched

RAW = Arm("ppo without return_norm", replace(PPO, return_norm=False))
WHOLE = Arm("continuous", CONTINUOUS, own_numbers(CONTINUOUS_CONFIG))
ZOO_FLAGS = replace(SB3, entropy=True)  # of stable-baselines3's zoo; its preset `sb3` has no entropy bonus
POPART = ("return_norm", "popart")
TO_GRPO = ("group_baseline", "group_norm", "reuse", "clip", "reply_mean", "kl_penalty")


@registered
def published(names: Sequence[str]) -> Design:
    """What CleanRL and stable-baselines3 do, to compare to their scores, and `ppo`. `names` changes no arm."""
    arms = Arm("cleanrl", CLEANRL), Arm("as stable-baselines3", ZOO_FLAGS), Arm("ppo", PPO)
    return Design("published", tuple(names), arms, own_arms=True)


@registered
def presets(names: Sequence[str]) -> Design:
    """What tells `ppo` from `cleanrl`, with `value_clip` on raw and on normalized returns. `names` changes no arm."""
    base = Arm("cleanrl without value_clip", replace(CLEANRL, value_clip=False))
    pairs = [with_it(base, name, base.tricks.on) for name in ("value_clip", "return_norm")]
    pairs += [with_it(pairs[1].having, name, base.tricks.on) for name in ("value_clip", "bootstrap")]
    pairs.append(without_it(pairs[-1].having, "lr_anneal"))  # which leaves `ppo`
    return of_pairs("presets", base, pairs, own_arms=True)


@registered
def continuous(names: Sequence[str]) -> Design:
    """The preset `continuous`, to compare to published scores. `names` changes no arm."""
    return Design("continuous", tuple(names), (WHOLE,), own_arms=True)


@registered
def around_continuous(names: Sequence[str]) -> Design:
    """The preset `continuous` without each of its tricks, and with each other one. `names` changes no arm.

    A trick is taken out with what needs it, and added with what it needs. Action masks are left out: no continuous
    action is illegal. So are `squash` and all after it, which are younger than the stored studies.
    """
    older = [*NEEDS][: [*NEEDS].index("squash")]
    others = [name for name in older if name not in (*CONTINUOUS.on, "action_mask")]
    pairs = [without_it(WHOLE, name) for name in CONTINUOUS.on]
    pairs += [with_it(WHOLE, name, CONTINUOUS.on) for name in others]
    return of_pairs("around-continuous", WHOLE, pairs, own_arms=True)


@registered
def beyond(names: Sequence[str]) -> Design:
    """PPO, and each trick beyond the ladder on top of it, compared to PPO with whatever that trick needs."""
    return _on_top_of(Arm("ppo", PPO), "beyond", names)


@registered
def beyond_raw(names: Sequence[str]) -> Design:
    """`beyond`, on PPO without `return_norm`: these tricks weigh a value loss, in units of return, against others."""
    return _on_top_of(RAW, "beyond-raw", names)


@registered
def scales(names: Sequence[str]) -> Design:
    """PPO without `return_norm`, and three ways to handle rewards of very different sizes. `names` changes no arm.

    Only the sign of each reward (Mnih et al. 2015, 10.1038/nature14236), returns in units of their deviation, and those
    with the value net's outputs preserved (van Hasselt et al. 2016, arXiv:1602.07714).
    """
    sign, normed = Arm(added([SIGN]), RAW.tricks, {SIGN: True}), Arm(added(POPART[:1]), PPO)
    preserved = Arm(added(POPART), switched([*PPO.on, *POPART]))
    pairs = compared(sign, RAW), compared(normed, RAW), compared(preserved, normed)
    return Design("scales", POPART, (RAW, sign, normed, preserved), pairs, own_arms=True)


@registered
def language(names: Sequence[str]) -> Design:
    """From REINFORCE to GRPO's flags, that set without each, and what DAPO and GSPO add. `names` changes no arm."""
    start = grpo = Arm("reinforce", REINFORCE)
    pairs = list[Comparison]()
    for name in TO_GRPO:
        pairs.append(with_it(grpo, name, grpo.tricks.on))
        grpo = pairs[-1].having
    pairs += [without_it(grpo, name) for name in TO_GRPO[:-1]]  # the rung before is without the last one
    pairs += [with_it(grpo, name, grpo.tricks.on) for name in ("mixed_groups", "clip_higher", "reply_ratio")]
    return of_pairs("language", start, pairs, own_arms=True)


def _on_top_of(base: Arm, name: str, names: Sequence[str]) -> Design:
    """The base, and on top of it each trick from beyond the ladder that is named, or all that fit if none is."""
    every = [name for name in NEEDS if name not in LADDER and fits(base.tricks, name)]
    chosen = closed([name for name in every if name in names] or every)  # with what they need
    pairs = [with_it(base, name, PPO.on) for name in every if name in chosen]
    return of_pairs(name, base, pairs, own_arms=True)
