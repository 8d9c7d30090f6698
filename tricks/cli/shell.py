"""What the command lines share: options from a dataclass, and one-line error messages."""

import contextlib
import io
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from tricks.errors import InputError, said
from tricks.flags import meant

T = TypeVar("T")


SHORT = {"--continue": "--continue-from", "-q": "--quiet"}  # what no field can be called in Python
NO_NUMBER = re.compile(  # what Python says of a value that is no number, and tyro of one that is of none of the types
    r"(?:invalid literal for int\(\) with base 10|could not convert string to float): (?P<one>.*)"
    r"|no type matching (?P<types>[INTFLOAone{}|\[\]. ]+) could be instantiated from \[(?P<all>.*)\]"
)
REPEATED = {  # options that may be given again and again: their field
    "--env-arg": "--env-args",
    "--eval-env-arg": "--eval-env-args",
    "--wrap": "--wrap",
    "--record": "--record",
}


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
        raise InputError(
            f"unknown command {name!r}{meant(name, commands) or '; the commands are ' + ', '.join(commands)}"
        )
    return commands[name]


def gathered(arguments: Sequence[str]) -> list[str]:
    """The arguments with the values of each option that may be repeated together, last: `--env-args A B`.

    Raises InputError for one without a value.
    """
    rest, values, words = list[str](), {field: list[str]() for field in REPEATED.values()}, iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        field = REPEATED.get(name.replace("_", "-"), name.replace("_", "-"))
        if field not in values:
            rest.append(word)
            continue
        value = value if equals else next(words, "")
        if not value or value.startswith("--"):
            raise InputError(f"{name} needs a value; see --help")
        values[field].append(value)
    return rest + [word for field, each in values.items() if each for word in (field, *each)]


def options(kind: type[T], arguments: list[str], prog: str, about: str = "") -> T:
    """Fill the dataclass `kind` from the command line; the docstrings of its fields are the help texts.

    Raises InputError for an unknown option or a value of the wrong type.
    """
    if _asking:
        _asking[-1].append(kind)
        raise InputError(f"the options of {prog} are asked for")
    import tyro  # imported here because commands without options don't need it

    whole = [(SHORT.get(name, name), equals, value) for name, equals, value in (x.partition("=") for x in arguments)]
    arguments = plain_counts(kind, gathered(["".join(parts) for parts in whole]))
    known = ["--help", "-h"]
    for field in _fields(kind):
        name = field.name.replace("_", "-")
        known += [f"--{name}", f"--no-{name}"] if isinstance(field.default, bool) else [f"--{name}"]
    for argument in arguments:
        option = argument.split("=")[0].replace("_", "-")
        if option.startswith("--") and option not in known:
            raise InputError(f"unknown option {argument}{meant(option, known) or '; see --help'}")
    refuse_empty_paths(kind, arguments)
    box = io.StringIO()
    try:
        with contextlib.redirect_stderr(box):
            return tyro.cli(kind, prog=prog, args=arguments, description=about, config=(tyro.conf.OmitArgPrefixes,))
    except SystemExit as stop:
        if not stop.code:  # --help
            raise
        raise InputError(f"{_message(box.getvalue())}; see --help") from stop


@contextlib.contextmanager
def asking() -> Iterator[list[type]]:
    """Let a command that is run in this block end where it would fill its dataclass of options: by InputError.

    Yields the list of these dataclasses.
    """
    _asking.append([])
    try:
        yield _asking[-1]
    finally:
        _asking.pop()


_asking: list[list[type]] = []


def plain_counts(kind: type, arguments: Sequence[str]) -> list[str]:
    """The arguments with whole numbers such as 1e5 written out, where an option takes one."""
    counts = {f"--{field.name.replace('_', '-')}" for field in _fields(kind) if _takes_int(field.type)}
    option, found = "", list[str]()
    for word in arguments:
        name, equals, value = word.partition("=") if word.startswith("--") else (option, "", word)
        option = name.replace("_", "-")
        whole = option in counts and re.fullmatch(r"\d+(\.\d*)?e\+?\d{1,2}", value) and float(value).is_integer()
        number = str(int(float(value))) if whole else value
        found.append(f"{name}{equals}{number}" if word.startswith("--") else number)
    return found


def _takes_int(kind: Any) -> bool:
    """Whether a type is int, or one of several of which one is."""
    return kind is int or any(map(_takes_int, get_args(kind)))


def _message(box: str) -> str:
    """The first paragraph of tyro's box, below its title, in one line; what follows is detail and help."""
    lines = (line.strip("│╭╮╰╯ ") for line in box.splitlines()[1:])
    said = itertools.dropwhile(lambda line: not line.strip("─-"), lines)  # without a box, a rule follows the title
    message = " ".join(itertools.takewhile(lambda line: line.strip("─-"), said))
    return NO_NUMBER.sub(_takes, message.removeprefix("Error parsing ").rstrip("."))


def _takes(found: re.Match[str]) -> str:
    """What an option takes whose value is no number."""
    types = found["types"] or found[0]
    kind = "a whole number" if "int" in types.lower() else "a number"
    return f"takes {kind}{', or several with spaces between' * ('[' in types)}, not {found['one'] or found['all']}"


def refuse_empty_paths(kind: type, arguments: Sequence[str]) -> None:
    """Raise InputError for a path that is empty, as that of an unset variable is: it would mean the current folder."""
    paths = {
        f"--{field.name.replace('_', '-')}" for field in _fields(kind) if Path in (field.type, *get_args(field.type))
    }
    for before, argument in itertools.pairwise(["", *arguments]):
        name = before if argument == "" else argument[:-1] if argument.endswith("=") else ""
        if name.replace("_", "-") in paths:
            raise InputError(f"{name} is empty; it takes a path")
        if argument == "" and not before.startswith("-"):
            raise InputError("an argument is empty")


def _fields(kind: type) -> Iterator[Field[Any]]:
    """The fields of a dataclass and of its nested dataclasses, without their annotations."""
    for field in fields(kind):
        type_ = getattr(field.type, "__origin__", field.type) if hasattr(field.type, "__metadata__") else field.type
        if isinstance(type_, type) and is_dataclass(type_):
            yield from _fields(type_)
        else:
            yield field
