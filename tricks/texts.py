"""What an environment is given as text: `gravity=-5`, `module:Wrapper(5)`, `cost:sum`. Equal ones have equal texts."""

import ast
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tricks.errors import InputError
from tricks.values import shown

RULES = ("last", "sum", "mean")  # of what an episode's steps give: the first one if none is named
NO_LITERAL = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


def as_texts(given: Any) -> tuple[str, ...]:
    """One name=literal for each argument, in the order of their names, from a dict or from texts.

    A text's value that is no Python literal counts as a string: `mode=hard` becomes `mode='hard'`.
    """
    texts = isinstance(given, Sequence) and not isinstance(given, str) and all(isinstance(one, str) for one in given)
    if not texts and not isinstance(given, Mapping):
        raise InputError(f"env_args must be a dict or a list of texts such as 'gravity=-5', not {shown(given)}")
    pairs = [_pair(text) for text in given] if texts else [*given.items()]
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
    except NO_LITERAL:
        return name.strip(), value


def _text(name: Any, value: Any) -> str:
    """The text of one argument. Raises InputError if it would not be read back as this value."""
    if hasattr(value, "tolist"):  # numpy's, PyTorch's
        value = value.tolist()
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"the name of an argument of the environment must be a Python name, not {shown(name)}")
    with suppress(Exception):  # whatever an object's own repr raises
        text = repr(value)
        if type(read := ast.literal_eval(text)) is type(value) and repr(read) == text:
            return f"{name}={text}"
    raise InputError(
        f"the environment's argument {name} must be a plain Python value, not {shown(value)}; "
        "for any other, make the environment with env="
    )


def wrapper_texts(wrap: Sequence[str]) -> tuple[str, ...]:
    """The same wrappers in one form. Raises InputError for a text of another form."""
    return tuple(wrapper_name(text) + ast.unparse(_call(text)).removeprefix("f").removesuffix("()") for text in wrap)


def wrapper_name(text: str) -> str:
    """module:Wrapper, without the arguments."""
    return text.partition("(")[0].strip()


def wrapper_call(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """module:Wrapper, its arguments by position, and those by name. Raises InputError for a text of another form."""
    call = _call(text)
    named = {str(argument.arg): ast.literal_eval(argument.value) for argument in call.keywords}
    return wrapper_name(text), [ast.literal_eval(argument) for argument in call.args], named


def _call(text: str) -> ast.Call:
    """The call of a function f with a wrapper's arguments, which are Python literals."""
    (module, _, attribute), (_, paren, rest) = wrapper_name(text).partition(":"), text.partition("(")
    try:
        named = all(part.isidentifier() for part in (*module.split("."), *attribute.split(".")))
        call = ast.parse(f"f({rest}" if paren else "f()", mode="eval").body
        if not named or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError("no module:Wrapper, or more than a call")
        for value in (*call.args, *(argument.value if argument.arg else argument for argument in call.keywords)):
            ast.literal_eval(value)  # which **x is not
    except NO_LITERAL as error:
        raise InputError(
            "wrap takes module:Wrapper, such as gymnasium.wrappers:FlattenObservation, or module:Wrapper(arguments) "
            f"with plain Python values, such as gymnasium.wrappers:TimeLimit(100), not {text!r}"
        ) from error
    return call


def record_texts(given: tuple[str, ...]) -> tuple[str, ...]:
    """What is recorded, one by one, where some texts hold several with commas between."""
    texts = tuple(text.strip() for each in given for text in each.split(","))
    for text in texts:
        name, _, rule = text.partition(":")
        if not re.fullmatch(r"[^\s\"':]+", name) or (":" in text and rule not in RULES):
            raise InputError(f"record takes names of info, each with :{' or :'.join(RULES)} if need be, not {text!r}")
    if twice := [name for name in recorded(texts) if [text.partition(":")[0] for text in texts].count(name) > 1]:
        raise InputError(f"record has a column for each name, and {twice[0]!r} is there twice")
    return texts


def recorded(texts: tuple[str, ...]) -> dict[str, str]:
    """The rule of each name that is recorded."""
    return {name: rule or RULES[0] for name, _, rule in (text.partition(":") for text in texts)}


def found(info: Mapping[str, Any], name: str) -> Any:
    """What info has under a name, or a.b in the entry b of the entry a; None if it has nothing."""
    if name in info or "." not in name:
        return info.get(name)
    first, _, rest = name.partition(".")
    inner = info.get(first)
    return found(inner, rest) if isinstance(inner, Mapping) else None
