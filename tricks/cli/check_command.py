"""`python -m tricks check`: look at an environment for a few seconds, without training in it."""

import warnings
from dataclasses import dataclass, fields

import tyro

from tricks.cli.shell import options
from tricks.config import Config
from tricks.errors import InputError


@dataclass(frozen=True)
class Checking:
    """Which environment to look at, and how it would be trained in."""

    env: tyro.conf.Positional[str] = ""
    """A Gymnasium id, module:Id, or module:function."""
    env_args: tuple[str, ...] = ()
    """Its arguments, as for `train`: --env-arg name=value."""
    wrap: tuple[str, ...] = ()
    """Wrappers around it, as for `train`."""
    rescale_actions: bool = False
    """Let the policy act in [-1, 1], as for `train`."""
    stack: int = 1
    """Show the last K observations, as for `train`."""
    as_vector: bool = False
    """Take images as vectors, as for `train`."""
    life_ends: bool = False
    """Losing a life ends the episode, as for `train`."""
    backend: str = Config.backend
    """What steps it, as for `train`."""
    lanes: int = 4
    """How many to run at once."""
    seed: int = 0
    """Their seed."""
    episodes: int = 10
    """Number of games with random actions; it looks no longer than a few seconds."""


def check(arguments: list[str]) -> None:
    """Print what the environment has and does. Raises InputError, which says what would be right, for a fault."""
    words = [word.removeprefix("--env=") for word in arguments if word != "--env"]
    asked = options(Checking, words, "python -m tricks check ENV")
    if not asked.env:
        raise InputError("check takes an environment, for example: python -m tricks check CartPole-v1")
    if asked.episodes < 1:
        raise InputError(f"episodes must be at least 1, not {asked.episodes}")
    warnings.filterwarnings("ignore", module="gymnasium")
    from tricks.cli import checking

    numbers = {each.name: getattr(asked, each.name) for each in fields(Config) if hasattr(asked, each.name)}
    for line in checking.check(Config(seeds=(asked.seed,), **numbers), asked.episodes):
        print(line)
    print(f"{asked.env} can be trained in")
