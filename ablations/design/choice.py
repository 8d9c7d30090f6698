"""Which tricks a design can be about: the ones that are named, and the ones that can act in an environment."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from gymnasium.spaces import Box

from tricks.config import Config
from tricks.envs.make import make_env
from tricks.ladder import HYPERPARAMETERS, LADDER, NEEDS, Tricks, check_known

ALSO = {"value_epochs": "reuse", "max_value_grad_norm": "grad_clip"}  # flags that these numbers need, too


def tricks_named(text: str) -> list[str]:
    """The tricks in a comma-separated list, in ladder order. Raises InputError for an unknown trick."""
    wanted = [name.strip() for name in text.split(",")]
    check_known(wanted)
    return [name for name in NEEDS if name in wanted]


def usable(config: Config) -> Iterator[str]:
    """The flags that can have an effect: `action_mask` has none unless the environment gives a mask."""
    masked = gives_mask(config)
    return (name for name in LADDER if masked or name != "action_mask")


def usable_beyond(config: Config) -> list[str]:
    """The flags beyond the ladder that the environment allows: `squash` needs actions between finite bounds."""
    with closing(make_env(replace(config.only(0), lanes=1, device="cpu", compile=False))) as env:
        space = env.spaces.action
    bounded = isinstance(space, Box) and space.is_bounded()
    return [name for name in NEEDS if name not in LADDER and (bounded or name != "squash")]


def gives_mask(config: Config) -> bool:
    """Whether the environment says which actions are legal; EnvPool never does."""
    if config.backend == "envpool":
        return False
    with closing(make_env(replace(config.only(0), lanes=1, device="cpu", compile=False))) as env:
        return env.masks


def missing_for(number: str, tricks: Tricks) -> list[str]:
    """Flags of which one must be on, too, before a number has an effect; empty if it has one."""
    owners = [flag for flag, numbers in HYPERPARAMETERS.items() if number in numbers]
    groups = [owners, [ALSO[number]] if number in ALSO else []]
    return next((flags for flags in groups if flags and not {*flags} & {*tricks.on}), [])


def idle(number: str, tricks: Tricks) -> str:
    """Why a number has no effect with these flags: `target_kl has no effect without kl_stop`; empty if it has one."""
    if flags := missing_for(number, tricks):
        return f"{number} has no effect without {' or '.join(flags)}"
    if number == "value_epochs" and tricks.ppg_buffers:
        return "value_epochs has no effect with ppg_buffers, which have value_uses instead"
    return ""
