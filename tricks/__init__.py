"""From REINFORCE to PPO and beyond, one trick at a time."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tricks.config import Config
from tricks.core.errors import InputError
from tricks.ladder import ATARI, EVERY, PPG, PPO, REINFORCE, Tricks
from tricks.listing import diff, listing
from tricks.source import source

if TYPE_CHECKING:
    from tricks.core.checkpoint import Checkpoints
    from tricks.core.resume import resume
    from tricks.core.run import Run, load
    from tricks.core.train import train

__all__ = [
    "ATARI",
    "EVERY",
    "PPG",
    "PPO",
    "REINFORCE",
    "Checkpoints",
    "Config",
    "InputError",
    "Run",
    "Tricks",
    "diff",
    "listing",
    "load",
    "resume",
    "source",
    "train",
]


def __getattr__(name: str) -> Any:
    """Import what needs torch only when it is asked for: listings and tables should not wait for it."""
    homes = {"Checkpoints": "checkpoint", "Run": "run", "load": "run", "resume": "resume", "train": "train"}
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"tricks.core.{homes[name]}"), name)
