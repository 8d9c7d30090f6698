"""From REINFORCE to PPO and beyond, one trick at a time."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tricks.config import ATARI_CONFIG, CONTINUOUS_CONFIG, Config
from tricks.errors import InputError, StopTraining
from tricks.ladder import ATARI, CONTINUOUS, EVERY, PPG, PPO, REINFORCE, Tricks, named, switched
from tricks.version import __version__ as __version__

if TYPE_CHECKING:
    from tricks.continuing import further
    from tricks.core.agent import Agent
    from tricks.core.nets import Body
    from tricks.core.spaces import Spaces
    from tricks.loop import train
    from tricks.reading.export import export
    from tricks.reading.listing import diff, listing
    from tricks.reading.source import source
    from tricks.replaced import patched
    from tricks.restore import load, resume
    from tricks.runs.checkpoint import Checkpoints
    from tricks.runs.evaluation import Evaluation
    from tricks.runs.run import Run

__all__ = [
    "ATARI",
    "ATARI_CONFIG",
    "CONTINUOUS",
    "CONTINUOUS_CONFIG",
    "EVERY",
    "PPG",
    "PPO",
    "REINFORCE",
    "Agent",
    "Body",
    "Checkpoints",
    "Config",
    "Evaluation",
    "InputError",
    "Run",
    "Spaces",
    "StopTraining",
    "Tricks",
    "diff",
    "export",
    "further",
    "listing",
    "load",
    "named",
    "patched",
    "resume",
    "source",
    "switched",
    "train",
]

HOMES = {  # imported on first use, because torch and libcst are slow to load
    "Agent": "tricks.core.agent",
    "Body": "tricks.core.nets",
    "Checkpoints": "tricks.runs.checkpoint",
    "Evaluation": "tricks.runs.evaluation",
    "Run": "tricks.runs.run",
    "Spaces": "tricks.core.spaces",
    "diff": "tricks.reading.listing",
    "export": "tricks.reading.export",
    "further": "tricks.continuing",
    "listing": "tricks.reading.listing",
    "load": "tricks.restore",
    "resume": "tricks.restore",
    "patched": "tricks.replaced",
    "source": "tricks.reading.source",
    "train": "tricks.loop",
}


def __getattr__(name: str) -> Any:
    """Import a public name from the module that defines it."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    """What completion offers: also the names that are not imported yet."""
    return sorted({*globals(), *__all__})
