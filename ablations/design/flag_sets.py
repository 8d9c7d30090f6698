"""How tables and files identify a run: its flags as one string, and its numbers that differ from the defaults."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from tricks.config import Config
from tricks.ladder import Tricks, check_known, switched

SIGN = "reward_sign"  # a switch of `Config` that an arm can have as if it were a flag
SHARED = ("env", "steps", "seeds", "backend", "device", "compile")  # of a config: the same for all arms
APART = {*SHARED, "lr"}  # not part of `numbers`


class Signed(Tricks):
    """The flags of an arm that learns from the sign of the reward."""


def signed(names: Sequence[str]) -> Signed:
    """`Signed` with exactly these flags on. Raises InputError for an unknown flag or an invalid combination."""
    check_known(names)
    return Signed(**dict.fromkeys(names, True))


def as_trained(config: Config, tricks: Tricks) -> Config:
    """The setting with which an arm is trained: with `reward_sign` for one that is `Signed`."""
    return replace(config, reward_sign=True) if isinstance(tricks, Signed) else config


def flags(tricks: Tricks) -> str:
    """The flags that are on, in ladder order: `baseline gae`; empty for REINFORCE. `reward_sign` comes last."""
    return " ".join([*tricks.on, SIGN] if isinstance(tricks, Signed) else tricks.on)


def tricks_of(text: str) -> Tricks:
    """What `flags` wrote as that text. Raises InputError for an unknown flag or an invalid combination."""
    on = text.split()
    return signed([name for name in on if name != SIGN]) if SIGN in on else switched(on)


def in_words(tricks: Tricks) -> str:
    """The flags that are on, or `reinforce`."""
    return flags(tricks) or "reinforce"


def own_numbers(config: Config) -> dict[str, Any]:
    """The numbers of a config that differ from the defaults, the learning rate among them."""
    every = {f.name: getattr(config, f.name) for f in fields(Config) if f.name not in SHARED}
    return {name: value for name, value in every.items() if value != getattr(Config, name)}


def numbers(config: Config) -> str:
    """The numbers of a config that differ from the defaults: `epochs=20 lanes=16`."""
    return " ".join(f"{name}={x}".replace(" ", "") for name, x in own_numbers(config).items() if name not in APART)
