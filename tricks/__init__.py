"""From REINFORCE to PPO and beyond, one trick at a time."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import ATARI, EVERY, PPG, PPO, REINFORCE, Tricks
from tricks.reading.export import export
from tricks.reading.listing import diff, listing
from tricks.reading.source import source

if TYPE_CHECKING:
    from tricks.loop import train
    from tricks.restore import load, resume
    from tricks.runs.checkpoint import Checkpoints
    from tricks.runs.run import Run

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
    "export",
    "listing",
    "load",
    "resume",
    "source",
    "train",
]


def __getattr__(name: str) -> Any:
    """Import what needs torch only when it is asked for: listings and tables should not wait for it."""
    homes = {
        "Checkpoints": "runs.checkpoint",
        "Run": "runs.run",
        "load": "restore",
        "resume": "restore",
        "train": "loop",
    }
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"tricks.{homes[name]}"), name)
