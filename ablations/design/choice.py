"""Which tricks a design can be about: the ones that are named, and the ones that can act in an environment."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from tricks.config import Config
from tricks.envs.make import make_env
from tricks.ladder import LADDER, NEEDS, check_known


def tricks_named(text: str) -> list[str]:
    """The tricks in a comma-separated list, in ladder order. Raises InputError for an unknown trick."""
    wanted = [name.strip() for name in text.split(",")]
    check_known(wanted)
    return [name for name in NEEDS if name in wanted]


def usable(config: Config) -> Iterator[str]:
    """The flags that can have an effect: `action_mask` has none unless the environment gives a mask."""
    masked = gives_mask(config)
    return (name for name in LADDER if masked or name != "action_mask")


def gives_mask(config: Config) -> bool:
    """Whether the environment says which actions are legal; EnvPool never does."""
    if config.backend == "envpool":
        return False
    with closing(make_env(replace(config.only(0), lanes=1, device="cpu", compile=False))) as env:
        return env.masks
