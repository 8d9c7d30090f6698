"""From REINFORCE to PPO and beyond, one trick at a time."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tricks.config import Config
from tricks.core.errors import InputError
from tricks.ladder import ATARI, EVERY, PPG, PPO, REINFORCE, Tricks
from tricks.listing import diff, listing
from tricks.source import source

if TYPE_CHECKING:
    from tricks.core.run import Run, load
    from tricks.core.train import train

__all__ = [
    "ATARI",
    "EVERY",
    "PPG",
    "PPO",
    "REINFORCE",
    "Config",
    "InputError",
    "Run",
    "Tricks",
    "diff",
    "listing",
    "load",
    "source",
    "train",
]


def __getattr__(name: str) -> Any:
    """Import what needs torch only when it is asked for: listings and tables should not wait for it."""
    homes = {"Run": "tricks.core.run", "load": "tricks.core.run", "train": "tricks.core.train"}
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(homes[name]), name)
