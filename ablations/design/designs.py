"""Designs: which combinations of flags to train, and which pairs of them tell what a trick does.

A design only yields arms; equal arms of different designs are trained once. Every arm meets its tricks' needs: what
the chosen tricks need and is not chosen itself is on in all arms.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import gymnasium as gym
import numpy as np

from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import LADDER, NEEDS, PPO, Tricks, closed, named, switched
from tricks.worlds import WORLDS
from tricks.worlds.world import everything_legal

SB3 = replace(PPO, value_clip=False, lr_anneal=False, bootstrap=True)  # what stable-baselines3's PPO does by default
MOST_FACTORS = 5  # of a factorial: 32 arms


@dataclass(frozen=True)
class Arm:
    """One combination of flags, and the name under which the design's tables and figures show it."""

    name: str
    tricks: Tricks


@dataclass(frozen=True)
class Comparison:
    """Two arms whose difference is what a trick does; `label` names the trick and what goes along with it."""

    trick: str
    label: str
    without: Tricks
    having: Tricks


@dataclass(frozen=True)
class Design:
    """Arms in the order of the story, the pairs to compare, and the arms that were dropped, with the reason."""

    name: str
    names: tuple[str, ...]
    """The tricks that it is about."""
    arms: tuple[Arm, ...]
    comparisons: tuple[Comparison, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()


def ladder(names: Sequence[str]) -> Design:
    """One more trick at a time, in teaching order. The story; it depends on the order."""
    base = _base(names)
    sets = [switched([*base, *names[:k]]) for k in range(len(names) + 1)]
    arms = [Arm(_plain(sets[0]), sets[0])]
    arms += [Arm(f"+ {name}", tricks) for name, tricks in zip(names, sets[1:], strict=True)]
    pairs = [Comparison(name, f"+ {name}", sets[k], sets[k + 1]) for k, name in enumerate(names)]
    return Design("ladder", tuple(names), tuple(arms), tuple(pairs))


def leave_one_out(names: Sequence[str]) -> Design:
    """The full set, and it without each trick and all that needs it. Is the trick still needed?"""
    full = switched([*_base(names), *names])
    pairs = []
    for name in names:
        gone = [other for other in full.on if name in closed([other])]
        label = f"− {', '.join([name, *(other for other in gone if other != name)])}"
        pairs.append(Comparison(name, label, switched([other for other in full.on if other not in gone]), full))
    arms = [Arm("all", full), *(Arm(pair.label, pair.without) for pair in pairs)]
    return Design("leave-one-out", tuple(names), tuple(arms), tuple(pairs))


def add_one_in(names: Sequence[str]) -> Design:
    """The bare core, and it with each trick and all that the trick needs. Does it help alone?

    A trick with needs is compared to its needs alone, so that they are not counted as its own.
    """
    pairs = []
    for name in names:
        needs = [other for other in closed([name]) if other != name]
        label = f"+ {', '.join([*needs, name])}"
        pairs.append(Comparison(name, label, switched(needs), switched([*needs, name])))
    arms = [Arm("reinforce", switched([]))]
    for pair in pairs:
        arms += [Arm(_plain(pair.without), pair.without), Arm(pair.label, pair.having)]
    once = {arm.tricks: arm for arm in reversed(arms)}  # the needs of one trick can be the arm of another
    distinct = tuple(dict.fromkeys(once[arm.tricks] for arm in arms))
    return Design("add-one-in", tuple(names), distinct, tuple(pairs))


def factorial(names: Sequence[str]) -> Design:
    """Every combination of at most five tricks: exact effects and interactions."""
    if not 2 <= len(names) <= MOST_FACTORS:
        raise InputError(f"a factorial takes 2 to {MOST_FACTORS} tricks, not {len(names)}: --tricks clip,gae,entropy")
    return _crossed("factorial", names, product((False, True), repeat=len(names)))


def screen(names: Sequence[str]) -> Design:
    """A fold-over of a Hadamard matrix, resolution IV: main effects clear of pairwise ones. Plackett & Burman 1946.

    Of all the tricks it crosses those that no other trick needs; what they need is on in all arms.
    """
    from scipy.linalg import hadamard

    if set(names) >= {need for name in names for need in NEEDS[name]}:  # else a draw of flags would hardly ever do
        names = [name for name in names if not any(name in NEEDS[other] for other in names)]
    if len(names) < 2:
        raise InputError(f"a screen takes at least 2 tricks, not {len(names)}")
    order = 2 ** len(names).bit_length()
    half = hadamard(order)[:, 1 : len(names) + 1]
    return _crossed("screen", names, np.vstack([half, -half]) > 0)


def _crossed(name: str, factors: Sequence[str], rows: Iterable[Sequence[bool]]) -> Design:
    """The arms with these flags on, row by row; those that break a need are dropped."""
    base, arms, dropped = _base(factors), [], []
    for row in rows:
        on = [factor for factor, is_on in zip(factors, row, strict=True) if is_on]
        title = f"+ {', '.join(on)}" if on else _plain(switched(base))
        try:
            arms.append(Arm(title, switched([*base, *on])))
        except InputError as error:
            dropped.append((title, error.fault))
    return Design(name, tuple(factors), tuple(arms), dropped=tuple(dropped))


def ppo(names: Sequence[str]) -> Design:
    """The preset `ppo`, and the flags of stable-baselines3, to hold against published scores; `names` do not matter."""
    return Design("ppo", tuple(names), (Arm("ppo", PPO), Arm("as stable-baselines3", SB3)))


def beyond(names: Sequence[str]) -> Design:
    """PPO, and what goes beyond the ladder on top of it: each of those tricks against PPO with what the trick needs."""
    return _on_top_of(PPO, "ppo", "beyond")


def beyond_normed(names: Sequence[str]) -> Design:
    """The same on PPO with `return_norm`: these tricks weigh a value loss, in units of return, against the policy."""
    return _on_top_of(replace(PPO, return_norm=True), "+ return_norm", "beyond-normed")


def _on_top_of(base: Tricks, first: str, design: str) -> Design:
    """The base, by the name of its arm, and each trick from beyond the ladder against it with what the trick needs."""
    pairs = []
    for name in (name for name in NEEDS if name not in LADDER):
        having = switched([*base.on, *named(name).on])
        label = f"+ {', '.join(other for other in having.on if other not in PPO.on)}"
        without = switched([other for other in having.on if other != name])
        pairs.append(Comparison(name, label, without, having))
    arms = [Arm(first, base), *(Arm(pair.label, pair.having) for pair in pairs)]
    return Design(design, tuple(pair.trick for pair in pairs), tuple(arms), tuple(pairs))


DESIGNS: dict[str, Callable[[Sequence[str]], Design]] = {
    "ladder": ladder,
    "leave-one-out": leave_one_out,
    "add-one-in": add_one_in,
    "factorial": factorial,
    "screen": screen,
    "ppo": ppo,
    "beyond": beyond,
    "beyond-normed": beyond_normed,
}
OWN_ARMS = ("ppo", "beyond", "beyond-normed")  # designs for which it does not matter which tricks are chosen


def tricks_named(text: str) -> list[str]:
    """The tricks in a list with commas, in ladder order. Raises InputError for a name that is no trick."""
    wanted = [name.strip() for name in text.split(",")]
    if unknown := [name for name in wanted if name not in NEEDS]:
        raise InputError(f"unknown trick {', '.join(unknown)}; the tricks are {', '.join(NEEDS)}")
    return [name for name in NEEDS if name in wanted]


def usable(config: Config) -> Iterator[str]:
    """The flags that can change anything: `action_mask` cannot where the environment gives no mask."""
    masked = gives_mask(config)
    return (name for name in LADDER if masked or name != "action_mask")


def gives_mask(config: Config) -> bool:
    """Whether the environment says which actions are legal; EnvPool never does."""
    if config.backend == "envpool":
        return False
    if config.env in WORLDS and config.backend != "gymnasium":
        return WORLDS[config.env].legal is not everything_legal
    world = gym.make(config.env)
    _, info = world.reset(seed=0)
    world.close()
    return "action_mask" in info


def _base(names: Sequence[str]) -> list[str]:
    """What the chosen tricks need and is not chosen. Raises InputError if that needs a chosen trick in its turn."""
    base = [need for need in closed(names) if need not in names]
    for need in base:
        if between := [name for name in names if name in closed([need])]:
            raise InputError(f"{need} is needed and needs {', '.join(between)}: add {need} to --tricks")
    return base


def _plain(tricks: Tricks) -> str:
    """The name of an arm with nothing but what others need."""
    return f"+ {', '.join(tricks.on)}" if tricks.on else "reinforce"
