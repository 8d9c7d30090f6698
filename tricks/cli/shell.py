"""What all command lines share: options from dataclasses, and errors in one line."""

import ast
import inspect
import re
import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, BooleanOptionalAction, RawTextHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from shutil import get_terminal_size
from textwrap import dedent, fill
from types import UnionType
from typing import Annotated, Any, NoReturn, TypeVar, get_args, get_origin

from tricks.config import ATARI_CONFIG, CLEANRL_CONFIG, CONTINUOUS_CONFIG, LANGUAGE_CONFIGS, SB3_CONFIG, Config
from tricks.errors import InputError, said
from tricks.flags import meant, switch
from tricks.ladder import PPO, PRESETS, Tricks, named
from tricks.reading.ladder_table import described
from tricks.runs.files import as_path
from tricks.version import version_line

T = TypeVar("T")
POSITIONAL = object()  # in Annotated: the field is given without its name
ALIASES = {"continue_from": "--continue", "quiet": "-q", "env_args": "--env-arg", "eval_env_args": "--eval-env-arg"}
TAKES = {int: "a whole number", float: "a number", Path: "a path", str: "a text", bool: "nothing"}
PRESET_CONFIGS = {"atari": ATARI_CONFIG, "continuous": CONTINUOUS_CONFIG, "cleanrl": CLEANRL_CONFIG, "sb3": SB3_CONFIG}
PRESET_CONFIGS |= LANGUAGE_CONFIGS
ABOUT = f"""RUNG sets the starting flags: {", ".join(PRESETS)}, or a flag, which means the ladder up to it. The default
is ppo. (In Python, Tricks() has every flag off: reinforce.) The defaults shown are those of ppo, or of the RUNG given
before --help. The presets {", ".join(PRESET_CONFIGS)} also change the numbers. """
NOTES = {"export": "The numbers become the defaults of the file's own options."}
NUMBERS = """Environment, seeds, budget and hyperparameters. A number that belongs to a trick, named in parentheses, has
no effect when that trick is off."""


def guarded(command: Callable[[list[str]], int], arguments: list[str], kept: str = "") -> int:
    """Run `command` and return its exit status: 2 on an error that the user can fix, 130 on Ctrl-C, each with one line.

    `kept`, and the KeyboardInterrupt's own message, say what an interrupted run leaves behind.
    """
    try:
        return command(arguments)
    except KeyboardInterrupt as stop:
        print(f"interrupted{kept}{stop}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read the output has seen enough
        return 0
    except (InputError, OSError, MemoryError) as error:
        text = f"not enough memory ({said(error)})" if isinstance(error, MemoryError) else said(error)
        if isinstance(error, OSError) and error.strerror:
            text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        print(f"error: {text}", file=sys.stderr)
        return 2


def chosen(name: str, commands: Mapping[str, T]) -> T:
    """Look up a command. Raises InputError, with a suggestion, for an unknown name."""
    if name in commands:
        return commands[name]
    hint = meant(name, commands) or f"; the commands are {', '.join(commands)}"
    raise InputError(f"unknown command {name!r}{hint}")


def answered(arguments: Sequence[str], usage: str) -> bool:
    """Print the usage or the version, if the first argument asks for it."""
    first = arguments[0] if arguments else ""
    if first in ("-h", "--help"):
        print(usage)
    elif first == "--version":
        print(version_line())
    return first in ("-h", "--help", "--version")


def parse(arguments: Sequence[str], what: str, *groups: type) -> tuple[Tricks, list[Any]]:
    """The flags, which start from the rung named first, and the other groups of options. Raises InputError."""
    start, numbers = PPO, Config()
    if arguments and not arguments[0].startswith("-"):
        rung, *arguments = arguments
        start, numbers = named(rung), PRESET_CONFIGS.get(rung.split("+")[0], numbers)
    parser = Parser(f"python -m tricks {what} [RUNG]", ABOUT + NOTES.get(what, ""))
    parser.takes(start, "Which tricks are on.")
    for group in groups:
        parser.takes(*((numbers, NUMBERS) if group is Config else (group(), str(group.__doc__))))
    tricks, *others = parser.filled(arguments)
    return tricks, others


def options(kind: type[T], arguments: Sequence[str], prog: str) -> T:
    """Fill a dataclass from the command line. Raises InputError as `Parser.filled` does."""
    parser = Parser(prog)
    parser.takes(kind())
    return parser.filled(arguments)[0]  # type: ignore[no-any-return]


class Parser(ArgumentParser):
    """Fills dataclasses from a command line: each field is an option, and its docstring is the help."""

    def __init__(self, prog: str, about: str = "") -> None:
        form = partial(RawTextHelpFormatter, max_help_position=8)
        super().__init__(prog, f"{prog} [-h] [OPTIONS]", _filled(about), formatter_class=form, allow_abbrev=False)
        self._negative_number_matcher = re.compile(r"-\.?\d")  # as in Python 3.14: -1e-3 is a number, too
        self.starts, self.counts = list[tuple[Any, set[str]]](), set[str]()

    def takes(self, start: Any, about: str = "", only: Sequence[str] = ()) -> None:
        """Add the options of a dataclass, or `only` these, with this instance's values as defaults."""
        wanted = {*only} or {field.name for field in fields(start)}
        self.starts.append((start, wanted))
        group = self.add_argument_group(type(start).__name__.lower(), _filled(about)) if about else self
        texts = described() if isinstance(start, Tricks) else sentences(start.__class__)
        for field in (field for field in fields(start) if field.name in wanted):
            whole, *marks = get_args(field.type) if get_origin(field.type) is Annotated else (field.type,)
            kinds = get_args(whole) if isinstance(whole, UnionType) else (whole,)
            several = any(get_origin(each) is tuple for each in kinds)
            kind = kinds[0] if kinds[0] in TAKES else next(iter(get_args(kinds[0])), None)
            if kind not in TAKES:
                continue  # it is set in another way
            default, text = getattr(start, field.name), texts.get(field.name) or str(next(iter(marks), ""))
            if default not in (None, "", ()):
                text += f" (default: {' '.join(map(str, default)) if isinstance(default, tuple) else default})"
            how: dict[str, Any] = {"help": _filled(text).replace("%", "%%"), "default": SUPPRESS}
            numbers = several and kind in (int, float)
            if kind is bool:  # --no-gif has no opposite
                how["action"] = "store_true" if field.name.startswith("no_") else BooleanOptionalAction
            else:
                how |= {"type": partial(_converted, kind, numbers), "metavar": kind.__name__.upper()}
            if POSITIONAL in marks:
                how |= {"nargs": "*" if several else "?", "metavar": field.name.upper(), "default": default}
                self.add_argument(field.name, **how)
                continue
            if several:  # `--hidden 64 64`, but `--wrap A --wrap B`
                how |= {"nargs": "*"} if numbers else {"action": "append"}
            if several and kinds[0] is kind:
                self.counts.add(field.name)
            name = switch(field.name)
            group.add_argument(*dict.fromkeys([ALIASES.get(field.name, name), name]), dest=field.name, **how)

    def filled(self, arguments: Sequence[str]) -> list[Any]:
        """The dataclasses with what is given. Raises InputError for an unknown option or a value of the wrong type."""
        words = [re.sub("^--[^=]+", lambda name: name[0].replace("_", "-"), word) for word in arguments]
        words = [each for word in words for each in (word.split("=", 1) if re.match("--[^=]+=(?!-)", word) else [word])]
        found, rest = self.parse_known_intermixed_args(words)
        if rest:
            unknown = f"unknown option {rest[0]}{meant(rest[0], self._option_string_actions) or '; see --help'}"
            raise InputError(unknown if rest[0].startswith("-") else f"unexpected argument {rest[0]!r}; see --help")
        given = {name: tuple(x) if isinstance(x, list) else x for name, x in vars(found).items()}
        given |= {name: given[name][0] for name in self.counts & {*given} if len(given[name]) == 1}
        return [replace(start, **{name: given[name] for name in names & {*given}}) for start, names in self.starts]

    def error(self, message: str) -> NoReturn:
        """Raise InputError: argparse's own way out prints the usage and ends the process."""
        raise InputError(f"{message.removeprefix('argument ')}; see --help")


def _filled(text: str) -> str:
    """A text in lines of the terminal, which break no `--eval-env`."""
    width = max(20, get_terminal_size().columns - 10)
    return fill(" ".join(text.split()), width, break_on_hyphens=False)


@cache
def sentences(kind: type) -> dict[str, str]:
    """The docstrings of a dataclass's fields, each in one line."""
    found = dict[str, str]()
    for each in reversed(kind.__mro__[:-1]):
        (body,) = ast.parse(dedent(inspect.getsource(each))).body
        for field, text in pairwise(getattr(body, "body", [])):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(sentence))):
                    found[name] = " ".join(sentence.split())
    return found


def _converted(kind: type, several: bool, word: str) -> Any:
    """A word as a number, a path, or itself; 1e5 is a whole number, too. Raises ArgumentTypeError."""
    with suppress(ValueError):
        if kind is int and re.fullmatch(r"\d+(\.\d*)?e\+?\d{1,2}", word) and float(word).is_integer():
            return int(float(word))
        if word or kind is str:
            return as_path(word) if kind is Path else kind(word)
    raise ArgumentTypeError(f"takes {TAKES[kind]}{', or several with spaces between' * several}, not {word!r}")
