"""From REINFORCE to PPO and beyond, one trick at a time."""

from typing import TYPE_CHECKING

from tricks.lazy import attached
from tricks.version import __version__ as __version__

if TYPE_CHECKING:
    from tricks.config import ATARI_CONFIG, CLEANRL_CONFIG, CONTINUOUS_CONFIG, SB3_CONFIG, Config
    from tricks.core.agent import Agent
    from tricks.core.nets import Body
    from tricks.core.spaces import Spaces
    from tricks.errors import InputError, StopTraining
    from tricks.ladder import ATARI, CLEANRL, CONTINUOUS, EVERY, PPG, PPO, REINFORCE, SB3, Tricks, named, switched
    from tricks.loop import train
    from tricks.own_trick import load_trick
    from tricks.reading.export import export
    from tricks.reading.listing import diff, listing
    from tricks.reading.source import source
    from tricks.replaced import patched
    from tricks.restore import further, load, resume
    from tricks.runs.checkpoint import Checkpoints
    from tricks.runs.evaluation import Evaluation
    from tricks.runs.run import Run

__getattr__, __dir__, __all__ = attached(__file__)
