"""From REINFORCE to PPO and beyond, one trick at a time."""

from tricks.config import Config
from tricks.core.errors import InputError
from tricks.core.run import Run, load
from tricks.core.train import train
from tricks.ladder import EVERY, PPO, REINFORCE, Tricks
from tricks.listing import diff, listing

__all__ = [
    "EVERY",
    "PPO",
    "REINFORCE",
    "Config",
    "InputError",
    "Run",
    "Tricks",
    "diff",
    "listing",
    "load",
    "train",
]
