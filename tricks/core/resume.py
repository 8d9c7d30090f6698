"""Go on with a run that was interrupted."""

from pathlib import Path

from tricks.core.checkpoint import Checkpoints, read
from tricks.core.run import Run
from tricks.core.train import train


def resume(folder: str | Path) -> Run:
    """Train the run whose checkpoint is in `folder` to its end, as if nothing had happened, and keep checkpoints.

    On the same machine the curve is, to the last bit, that of a run that was never interrupted, if the environment is
    a tensor world; others begin new episodes, and a line says so. Its configuration stays as it was: the annealing
    runs over the whole budget. Raises InputError if there is no checkpoint, or a damaged one.
    """
    found = read(Path(folder))
    return train(found.config, found.tricks, keep=Checkpoints(folder, found.every, found))
