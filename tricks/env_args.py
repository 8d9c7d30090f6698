"""Arguments of an environment as text: `gravity=-5`. Equal arguments have equal texts, which identify a run."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from tricks.errors import InputError
from tricks.values import shown


def as_texts(given: Any) -> tuple[str, ...]:
    """One name=literal for each argument, in the order of their names, from a dict or from texts.

    A text's value that is no Python literal counts as a string: `mode=hard` becomes `mode='hard'`. Raises InputError
    for a text that is not name=value, for a name that is given twice, and for a value that no literal can give.
    """
    if isinstance(given, Mapping):
        return tuple(sorted(_text(name, value) for name, value in given.items()))
    if not isinstance(given, Sequence) or isinstance(given, str) or not all(isinstance(one, str) for one in given):
        raise InputError(f"env_args must be a dict or a list of texts such as 'gravity=-5', not {shown(given)}")
    pairs = [_pair(text) for text in given]
    names = [name for name, _ in pairs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"the environment's argument {twice[0]} is given twice")
    return tuple(sorted(_text(name, value) for name, value in pairs))


def as_values(texts: Sequence[str]) -> dict[str, Any]:
    """The arguments by name, from their texts."""
    return dict(_pair(text) for text in texts)


def _pair(text: str) -> tuple[str, Any]:
    """`gravity=-5` as ("gravity", -5)."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise InputError(f"an argument of the environment is name=value, such as gravity=-5, not {text!r}")
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return name.strip(), value


def _text(name: Any, value: Any) -> str:
    """The text of one argument. Raises InputError if it would not be read back as this value."""
    if hasattr(value, "tolist"):  # numpy's, PyTorch's
        value = value.tolist()
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"the name of an argument of the environment must be a Python name, not {shown(name)}")
    try:
        text = repr(value)
        same = type(read := ast.literal_eval(text)) is type(value) and repr(read) == text
    except Exception:  # whatever an object's own repr raises
        same = False
    if not same:
        raise InputError(
            f"the environment's argument {name} must be a plain Python value, not {shown(value)}; "
            "for any other, make the environment with env="
        )
    return f"{name}={text}"
