"""How tables and files identify a run: its flags as one string, and its numbers that differ from the defaults."""

from dataclasses import fields

from tricks.config import Config
from tricks.ladder import Tricks

APART = {"env", "steps", "seeds", "lr", "backend", "device", "compile"}  # not part of `numbers`


def flags(tricks: Tricks) -> str:
    """The flags that are on, in ladder order: `baseline gae`; empty for REINFORCE."""
    return " ".join(tricks.on)


def in_words(tricks: Tricks) -> str:
    """The flags that are on, or `reinforce`."""
    return flags(tricks) or "reinforce"


def numbers(config: Config) -> str:
    """The numbers of a config that differ from the defaults: `epochs=20 lanes=16`."""
    own = {f.name: getattr(config, f.name) for f in fields(Config) if f.name not in APART}
    return " ".join(f"{name}={x}".replace(" ", "") for name, x in own.items() if x != getattr(Config, name))
