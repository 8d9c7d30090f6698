"""From REINFORCE to PPO and beyond, one trick at a time."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tricks.config import ATARI_CONFIG, CLEANRL_CONFIG, CONTINUOUS_CONFIG, SB3_CONFIG, Config
from tricks.errors import InputError, StopTraining
from tricks.ladder import ATARI, CLEANRL, CONTINUOUS, EVERY, PPG, PPO, REINFORCE, SB3, Tricks, named, switched
from tricks.version import __version__ as __version__

if TYPE_CHECKING:
    from tricks.core.agent import Agent as Agent
    from tricks.core.nets import Body as Body
    from tricks.core.spaces import Spaces as Spaces
    from tricks.loop import train as train
    from tricks.own_trick import load_trick as load_trick
    from tricks.reading.export import export as export
    from tricks.reading.listing import diff as diff
    from tricks.reading.listing import listing as listing
    from tricks.reading.source import source as source
    from tricks.replaced import patched as patched
    from tricks.restore import further as further
    from tricks.restore import load as load
    from tricks.restore import resume as resume
    from tricks.runs.checkpoint import Checkpoints as Checkpoints
    from tricks.runs.evaluation import Evaluation as Evaluation
    from tricks.runs.run import Run as Run

HOMES = {  # imported on first use, because torch and libcst are slow to load
    "Agent": "tricks.core.agent",
    "Body": "tricks.core.nets",
    "Checkpoints": "tricks.runs.checkpoint",
    "Evaluation": "tricks.runs.evaluation",
    "Run": "tricks.runs.run",
    "Spaces": "tricks.core.spaces",
    "diff": "tricks.reading.listing",
    "export": "tricks.reading.export",
    "further": "tricks.restore",
    "listing": "tricks.reading.listing",
    "load": "tricks.restore",
    "load_trick": "tricks.own_trick",
    "patched": "tricks.replaced",
    "resume": "tricks.restore",
    "source": "tricks.reading.source",
    "train": "tricks.loop",
}
__all__ = ["ATARI", "ATARI_CONFIG", "CLEANRL", "CLEANRL_CONFIG", "CONTINUOUS", "CONTINUOUS_CONFIG", "EVERY", "PPG"]
__all__ += ["PPO", "REINFORCE", "SB3", "SB3_CONFIG"]
__all__ += ["Config", "InputError", "StopTraining", "Tricks", "named", "switched", *HOMES]


def __getattr__(name: str) -> Any:
    """Import a public name from the module that defines it."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    """What completion offers: also the names that are not imported yet."""
    return sorted({*globals(), *__all__})
