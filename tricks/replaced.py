"""Another function in the place of one of ours, to see what it does."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any
from unittest.mock import patch

from tricks.errors import InputError
from tricks.flags import meant
from tricks.ladder import FILES

REPLACED: list[str] = []  # names, where a `with patched(...)` is running


@contextmanager
def patched(**functions: Callable[..., Any]) -> Iterator[None]:
    """`with patched(clipped_surrogate=mine): train(...)` calls `mine` where the library has `clipped_surrogate`.

    That is where the loop calls it, else in the trick's file that defines it, else in Adam's. A replacement takes the
    arguments of the original; `source(name)` shows it. Raises InputError for a name that none of them has.
    """
    with ExitStack() as stack:
        for name, function in functions.items():
            stack.enter_context(patch.object(home(name), name, function))
            REPLACED.append(name)
            stack.callback(REPLACED.remove, name)
        yield


def home(name: str) -> ModuleType:
    """The loop, if it calls a function of this name; else the file that defines it. InputError if there is none."""
    files = [import_module(f"tricks.{file}") for file in ("loop", *dict.fromkeys(FILES.values()), "core.adam")]
    found = next((module for module in files if callable(getattr(module, name, None))), None)
    if found is None:
        known = {each for module in files for each in vars(module) if callable(getattr(module, each))}
        raise InputError(f"there is no function {name!r} to replace{meant(name, sorted(known))}")
    return found
