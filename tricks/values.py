"""What users give, as plain Python values: checked against the annotation of the field or parameter that takes it."""

import functools
import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ParamSpec, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from tricks.errors import InputError
from tricks.flags import meant

P = ParamSpec("P")
T = TypeVar("T")

LARGEST = 2**53  # larger integers have no exact float64, which is what a curve's columns are
LONGEST = 1_000_000  # entries of a list of numbers
WORDS = {bool: "True or False", int: "a whole number", float: "a number"}  # classes go by their own name
WORDS |= {str: "a string", NoneType: "None", Path: "a path"}
LISTS = {str: "strings", int: "whole numbers such as (1, 2)", float: "numbers such as (0.1, 0.2)"}


class Unfit(Exception):
    """A value is not of the kind that is asked for."""


class Checked:
    """Base of a frozen dataclass whose fields are checked and made plain by their annotations.

    `lanes=np.int64(4)`, `seeds=range(3)` and `steps=1e6` become 4, (0, 1, 2) and 1000000. Others raise InputError.
    """

    def __new__(cls, *values: Any, **named: Any) -> Self:
        names = [f.name for f in fields(cls)]  # type: ignore[arg-type]
        if unknown := [name for name in named if name not in names]:
            some = f"{', '.join(names[:12])} and {len(names) - 12} more" if names[20:] else ", ".join(names)
            hint = meant(unknown[0], names) or f"; it has {some}"
            raise InputError(f"{cls.__name__} has no {unknown[0]!r}{hint}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for f in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, f.name, fitted(f.name, f.type, getattr(self, f.name)))


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """The function, with its arguments checked and made plain by those annotations that `fitted` knows."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InputError(f"{function.__qualname__.removesuffix('.__init__')}: {error}") from None
        hints = get_type_hints(function)
        for name, value in bound.arguments.items():
            if name in hints and signature.parameters[name].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
                bound.arguments[name] = fitted(name, hints[name], value)
        return function(*bound.args, **bound.kwargs)

    return call


def fitted(name: str, kind: Any, value: Any) -> Any:
    """The value as a plain one of this kind. Raises InputError, which names the field and what it got, if it is not."""
    try:
        return _plain(kind, value)
    except (Unfit, OverflowError) as error:
        asked = _in_words(kind) if isinstance(error, Unfit) else error
        raise InputError(f"{name} must be {asked}, not {shown(value)}") from None


def shown(value: object) -> str:
    """A value in one short line."""
    text = f"a value of type {type(value).__name__}"
    with suppress(Exception):  # of an object's own repr, or Python's limit on the digits of an integer
        text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain(kind: Any, value: Any) -> Any:
    """The value as a plain one of this kind. Raises Unfit, or OverflowError with the limit that it exceeds."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):  # the first that fits
        for one in inner:
            with suppress(Unfit):
                return _plain(one, value)
        raise Unfit
    if origin is tuple or kind in (bool, int, float):
        value = value.tolist() if hasattr(value, "tolist") else value  # numpy's, PyTorch's, which are slow to import
    if origin is tuple and inner[1:] == (...,):
        if not isinstance(value, list | tuple | range):
            raise Unfit
        if value[LONGEST:]:  # a range's length can be too large for `len`
            raise OverflowError(f"at most {LONGEST:,} numbers")
        return tuple(_plain(inner[0], one) for one in value)
    if kind in (bool, int, float):
        return _number(kind, value)
    if kind is str and f"{type(value).__module__}.{type(value).__name__}" == "torch.device":
        return str(value)
    known = callable if origin is Callable else lambda x: not isinstance(kind, type) or isinstance(x, kind)
    if not known(value):
        raise Unfit
    return str(value) if kind is str else value


def _number(kind: type, value: Any) -> Any:
    """A bool, int or float. A float that is whole, such as 1e6, is an int; a bool is no number."""
    if isinstance(value, bool) and kind is bool:
        return value
    if not isinstance(value, int | float) or bool in (type(value), kind) or (kind is int and value % 1 != 0):
        raise Unfit  # inf % 1 is NaN
    if (isinstance(value, int) or kind is int) and abs(value) > LARGEST:
        raise OverflowError("within ±2^53")
    return kind(value)


def _in_words(kind: Any) -> str:
    """What a kind asks for: `a whole number or a list of whole numbers`."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        words = list(dict.fromkeys(_in_words(one) for one in inner if one is not NoneType))
        return " or ".join([*words, *["None"] * (NoneType in inner and len(words) == 1)])
    if origin is tuple:
        return f"a list of {LISTS[inner[0]]}"
    if origin is Callable:
        made = inner[1]
        known = isinstance(made, type) and made is not object
        return "a function" + f" that makes a {made.__module__.split('.')[0]}.{made.__name__}" * known
    name = getattr(kind, "__name__", str(kind))
    return WORDS.get(kind, f"{'an' if name[0] in 'AEIOU' else 'a'} {name}")
