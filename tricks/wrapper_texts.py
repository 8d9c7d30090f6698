"""Wrappers of an environment as text: `module:Wrapper` or `module:Wrapper(5, name='x')`."""

import ast
from collections.abc import Sequence
from typing import Any

from tricks.errors import InputError


def wrapper_texts(wrap: Sequence[str]) -> tuple[str, ...]:
    """The same texts in one form: equal arguments have equal texts. Raises InputError for a text of another form."""
    return tuple(wrapper_name(text) + _arguments(text).removeprefix("f").removesuffix("()") for text in wrap)


def wrapper_name(text: str) -> str:
    """module:Wrapper, without the arguments."""
    return text.partition("(")[0].strip()


def wrapper_call(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """module:Wrapper, its arguments by position, and those by name, which are Python literals.

    Raises InputError for a text of another form.
    """
    name, paren, rest = text.partition("(")
    module, colon, attribute = name.strip().partition(":")
    try:
        if not (colon and all(part.isidentifier() for part in (*module.split("."), *attribute.split(".")))):
            raise ValueError("no module:Wrapper")
        call = ast.parse(f"f({rest}" if paren else "f()", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError("more than a call")
        named = {str(argument.arg): ast.literal_eval(argument.value) for argument in call.keywords if argument.arg}
        if len(named) < len(call.keywords):
            raise ValueError("an argument without a name, **x")
        return name.strip(), [ast.literal_eval(argument) for argument in call.args], named
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise InputError(
            "wrap takes module:Wrapper, such as gymnasium.wrappers:FlattenObservation, or module:Wrapper(arguments) "
            f"with plain Python values, such as gymnasium.wrappers:TimeLimit(100), not {text!r}"
        ) from error


def _arguments(text: str) -> str:
    """The call of a function f with the same arguments."""
    wrapper_call(text)
    _, paren, rest = text.partition("(")
    return ast.unparse(ast.parse(f"f({rest}" if paren else "f()", mode="eval"))
