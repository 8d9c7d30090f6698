"""What the command lines share: options from a dataclass, and one-line error messages."""

import contextlib
import difflib
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import TypeVar

from tricks.errors import InputError

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
    reason = " ".join(str(error).split())
    return f"not enough memory ({reason})" if isinstance(error, MemoryError) else reason or type(error).__name__


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
    box = io.StringIO()
    try:
        with contextlib.redirect_stderr(box):
            return tyro.cli(kind, prog=prog, args=arguments, description=about, config=(tyro.conf.OmitArgPrefixes,))
    except SystemExit as stop:
        if not stop.code:  # --help
            raise
        lines = [line.strip("│╭╮╰╯─ ") for line in box.getvalue().splitlines()]
        message = [line for line in lines[1:] if line and "full helptext" not in line]
        raise InputError(" ".join(message).split(" Argument helptext")[0] + "; see --help") from stop


def _names(kind: type) -> Iterator[tuple[str, bool]]:
    """The options of a dataclass and of its nested dataclasses, and whether each is a switch."""
    for field in fields(kind):
        type_ = getattr(field.type, "__origin__", field.type)  # without its annotations
        if isinstance(type_, type) and is_dataclass(type_):
            yield from _names(type_)
        else:
            yield field.name.replace("_", "-"), isinstance(field.default, bool)
