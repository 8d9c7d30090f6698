"""Planted faults: the library's own loop, with one of its functions replaced by a wrong one."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from tricks.replaced import patched as planted
from tricks.runs import log

__all__ = ["planted", "unwatched"]


@contextmanager
def unwatched(diagnostic: str) -> Iterator[None]:
    """`with unwatched("auxiliary_loss"): train(...)` does not end a seed in which this diagnostic is not finite.

    Raises ValueError for a diagnostic that ends no seed.
    """
    rest = list(log.WATCHED)
    rest.remove(diagnostic)
    with patch.object(log, "WATCHED", tuple(rest)):
        yield
