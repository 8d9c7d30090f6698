"""What an environment is given as text. Equal arguments have equal texts, which identify a run.

Its arguments, `gravity=-5`; its wrappers, `module:Wrapper(5, name='x')`; and the infos that are recorded, `cost:sum`.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tricks.errors import InputError
from tricks.values import shown

RULES = ("last", "sum", "mean")  # of what an episode's steps give: the first one if none is named
NO_LITERAL = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


def as_texts(given: Any) -> tuple[str, ...]:
    """One name=literal for each argument, in the order of their names, from a dict or from texts.

    A text's value that is no Python literal counts as a string: `mode=hard` becomes `mode='hard'`. Raises InputError
    for a text that is not name=value, for a name that is given twice, and for a value that no literal can give.
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
        if not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
            raise ValueError("no module:Wrapper")
        call = ast.parse(f"f({rest}" if paren else "f()", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError("more than a call")
        if not all(argument.arg for argument in call.keywords):
            raise ValueError("an argument without a name, **x")
        for value in (*call.args, *(argument.value for argument in call.keywords)):
            ast.literal_eval(value)
    except NO_LITERAL as error:
        raise InputError(
            "wrap takes module:Wrapper, such as gymnasium.wrappers:FlattenObservation, or module:Wrapper(arguments) "
            f"with plain Python values, such as gymnasium.wrappers:TimeLimit(100), not {text!r}"
        ) from error
    return call


def record_texts(given: tuple[str, ...]) -> tuple[str, ...]:
    """What is recorded, one by one, where some texts hold several with commas between.

    Raises InputError for one without meaning.
    """
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
