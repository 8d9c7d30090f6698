"""Planted faults: the library's own loop, with one of its functions replaced by a wrong one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from types import ModuleType
from unittest.mock import patch

from tricks import loop
from tricks.core import adam
from tricks.ladder import FILES
from tricks.runs import log


@contextmanager
def planted(**faults: Callable) -> Iterator[None]:
    """`with planted(gae=wrong): train(...)` trains with `wrong` where the loop, a trick's file or Adam calls `gae`.

    Raises AttributeError for a name that none of them knows.
    """
    with ExitStack() as stack:
        for name, fault in faults.items():
            stack.enter_context(patch.object(_home(name), name, fault))
        yield


@contextmanager
def unwatched(diagnostic: str) -> Iterator[None]:
    """`with unwatched("auxiliary_loss"): train(...)` does not end a seed in which this diagnostic is not finite.

    Raises ValueError for a diagnostic that ends no seed.
    """
    rest = list(log.WATCHED)
    rest.remove(diagnostic)
    with patch.object(log, "WATCHED", tuple(rest)):
        yield


def _home(name: str) -> ModuleType:
    """The loop, if it calls a function of this name; else the file that defines it."""
    files = (import_module(f"tricks.{file}") for file in dict.fromkeys(FILES.values()))
    return next((module for module in (loop, *files, adam) if hasattr(module, name)), loop)
