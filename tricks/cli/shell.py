"""What the command lines share: options from a dataclass, and one-line error messages."""

import contextlib
import difflib
import io
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args

from tricks.errors import InputError, said

T = TypeVar("T")


def guarded(command: Callable[[list[str]], int], arguments: list[str], kept: str = "") -> int:
    """Run `command` and return its exit status: 2 on an error that the user can fix, 130 on Ctrl-C.

    Such errors and Ctrl-C print one line. They are InputError, and what the operating system refuses: a full disk, a
    name that is too long, memory. `kept` says what an interrupted run leaves behind; so can the message of the
    KeyboardInterrupt.
    """
    try:
        return command(arguments)
    except KeyboardInterrupt as stop:
        print(f"interrupted{kept}{stop}", file=sys.stderr)
        return 130
    except (InputError, OSError, MemoryError) as error:
        print(f"error: {_in_one_line(error)}", file=sys.stderr)
        return 2


def _in_one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fspath(error.filename)!s}: " if isinstance(error.filename, str | os.PathLike) else ""
        return f"{where}{error.strerror}"
    return f"not enough memory ({said(error)})" if isinstance(error, MemoryError) else said(error)


def chosen(name: str, commands: Mapping[str, T]) -> T:
    """Look up a command. Raises InputError, with a suggestion, for an unknown name."""
    if name not in commands:
        known = f"the commands are {', '.join(commands)}"
        raise InputError(f"unknown command {name!r}; {suggested(name, commands, 0.6) or known}")
    return commands[name]


def suggested(word: str, known: Iterable[str], cutoff: float) -> str:
    """`did you mean ...?` with the closest known word, or an empty string if none is close."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return f"did you mean {near[0]}?" if near else ""


def options(kind: type[T], arguments: list[str], prog: str, about: str = "") -> T:
    """Fill the dataclass `kind` from the command line; the docstrings of its fields are the help texts.

    Raises InputError for an unknown option or a value of the wrong type.
    """
    import tyro  # imported here because commands without options don't need it

    known = ["--help", "-h"]
    for name, boolean in _names(kind):
        known += [f"--{name}", f"--no-{name}"] if boolean else [f"--{name}"]
    for argument in arguments:
        option = argument.split("=")[0].replace("_", "-")
        if option.startswith("--") and option not in known:
            raise InputError(f"unknown option {argument}; {suggested(option, known, 0.7) or 'see --help'}")
    refuse_empty_paths(kind, arguments)
    box = io.StringIO()
    try:
        with contextlib.redirect_stderr(box):
            return tyro.cli(kind, prog=prog, args=arguments, description=about, config=(tyro.conf.OmitArgPrefixes,))
    except SystemExit as stop:
        if not stop.code:  # --help
            raise
        words = " ".join(line.strip("│╭╮╰╯─ ") for line in box.getvalue().splitlines())
        raise InputError(f"{_plainly(words, kind, arguments)}; see --help") from stop


def refuse_empty_paths(kind: type, arguments: Sequence[str]) -> None:
    """Raise InputError for a path that is empty, as that of an unset variable is: it would mean the current folder."""
    paths = {f"--{f.name.replace('_', '-')}" for f in _fields(kind) if _taken("", f.type) == "a path"}
    for before, argument in itertools.pairwise(["", *arguments]):
        name = before if argument == "" else argument[:-1] if argument.endswith("=") else ""
        if name.replace("_", "-") in paths:
            raise InputError(f"{name} is empty; it takes a path")
        if argument == "" and not before.startswith("-"):
            raise InputError("an argument is empty")


def _plainly(message: str, kind: type, arguments: Sequence[str]) -> str:
    """What tyro's message is about, in the user's words: the option, what it takes, and what it got."""
    if found := re.search(r"(?:Error parsing|Missing value for argument) '?--([\w-]+)", message):
        option = f"--{found[1]}"
        hints = {f.name.replace("_", "-"): f.type for f in _fields(kind)}
        takes = _taken(option, hints[found[1]])
        at = max(i for i, given in enumerate(arguments) if given.split("=")[0].replace("_", "-") == option)
        after = itertools.takewhile(lambda given: not given.startswith("--"), arguments[at + 1 :])
        values = " ".join([*arguments[at].split("=")[1:], *after])
        return f"{option} takes {takes}" + (f", not {values!r}" if values else "")
    if found := re.search(r"Unrecognized options: (\S+)", message):
        return f"unexpected argument {found[1]!r}: it is neither an option nor the value of one"
    return message.split(" Argument helptext")[0]


def _taken(option: str, hint: Any) -> str:
    """What the option of a field of this type takes: `a whole number or several (--seeds 1 2 3)`."""
    kinds = [kind for kind in (get_args(hint) if isinstance(hint, UnionType) else (hint,)) if kind is not NoneType]
    one = {int: "a whole number", float: "a number", str: "a text", Path: "a path"}
    if kinds[-1] in one:
        return one[kinds[-1]]
    number = get_args(kinds[-1])[0] if get_args(kinds[-1]) else kinds[-1]
    several = f"{option} {'1 2 3' if number is int else '0.1 0.2 0.3'}"
    return f"{one[number]} or several ({several})" if number in one else "a value"


def _fields(kind: type) -> Iterator[Field[Any]]:
    """The fields of a dataclass and of its nested dataclasses, without their annotations."""
    for field in fields(kind):
        type_ = getattr(field.type, "__origin__", field.type) if hasattr(field.type, "__metadata__") else field.type
        if isinstance(type_, type) and is_dataclass(type_):
            yield from _fields(type_)
        else:
            yield field


def _names(kind: type) -> Iterator[tuple[str, bool]]:
    """The options of a dataclass and of its nested dataclasses, and whether each is a switch."""
    for field in _fields(kind):
        yield field.name.replace("_", "-"), isinstance(field.default, bool)
