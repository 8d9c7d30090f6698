"""From REINFORCE to PPO and beyond, one trick at a time."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tricks.config import Config
from tricks.errors import InputError
from tricks.ladder import ATARI, CONTINUOUS, EVERY, PPG, PPO, REINFORCE, Tricks

if TYPE_CHECKING:
    from tricks.loop import train
    from tricks.reading.export import export
    from tricks.reading.listing import diff, listing
    from tricks.reading.source import source
    from tricks.restore import load, resume
    from tricks.runs.checkpoint import Checkpoints
    from tricks.runs.evaluation import Evaluation
    from tricks.runs.run import Run

__all__ = [
    "ATARI",
    "CONTINUOUS",
    "EVERY",
    "PPG",
    "PPO",
    "REINFORCE",
    "Checkpoints",
    "Config",
    "Evaluation",
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

HOMES = {  # imported on first use, because torch and libcst are slow to load
    "Checkpoints": "tricks.runs.checkpoint",
    "Evaluation": "tricks.runs.evaluation",
    "Run": "tricks.runs.run",
    "diff": "tricks.reading.listing",
    "export": "tricks.reading.export",
    "listing": "tricks.reading.listing",
    "load": "tricks.restore",
    "resume": "tricks.restore",
    "source": "tricks.reading.source",
    "train": "tricks.loop",
}


def __getattr__(name: str) -> Any:
    """Import a public name from the module that defines it."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
