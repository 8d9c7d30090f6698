"""Functions from a file of the user's: `my.py:three_arms`; and how those that replace ours are put in words."""

import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cloudpickle

from tricks.errors import InputError, in_words


def function_from(text: str) -> Callable[..., Any]:
    """The function that `path.py:name` means. Raises InputError if there is no such file, it fails, or lacks the name.

    Its module goes to worker processes by value, so that they need not find the file.
    """
    place, _, name = text.rpartition(":")
    path = Path(place)
    if not place or not name.isidentifier():
        raise InputError(f"{text!r} names no function in a file; for example: my.py:three_arms")
    if not path.is_file():
        raise InputError(f"there is no file {place}")
    spec = importlib.util.spec_from_file_location(f"own_{path.stem}", path)  # never the name of another module
    if spec is None or spec.loader is None:
        raise InputError(f"{place} is no Python file")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    cloudpickle.register_pickle_by_value(module)
    sys.path.insert(0, str(path.resolve().parent))  # for the files beside it
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{place} cannot be run: {in_words(error)}") from error
    finally:
        sys.path.pop(0)
    found = getattr(module, name, None)
    if not callable(found):
        raise InputError(f"{place} has no function {name!r}")
    return found  # type: ignore[no-any-return]


def replaced_in_words(functions: Mapping[str, Callable[..., Any]]) -> str:
    """`Adam replaced by mine.py:sgd`: which of our functions give way, and to what."""
    return " and ".join(f"{name} replaced by {_place(function)}" for name, function in functions.items())


def _place(function: Callable[..., Any]) -> str:
    """A function as `function_from` takes it, without the folder; by its name alone where it has no file."""
    code = inspect.unwrap(getattr(function, "func", function))
    name = getattr(code, "__name__", type(code).__name__)
    try:
        return f"{Path(inspect.getfile(code)).name}:{name}"
    except (TypeError, OSError):
        return str(name)
