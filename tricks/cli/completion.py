"""`--print-completion SHELL`: a script with which a shell completes commands and options at the Tab key."""

import contextlib
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import make_dataclass
from functools import reduce
from operator import or_
from typing import Annotated, Any

from tricks.cli import shell
from tricks.errors import InputError

OPTION = "--print-completion"
SHELLS = ("bash", "zsh")  # which tyro knows without other packages


def completion(program: str, commands: Mapping[str, Callable[[list[str]], object]], arguments: list[str]) -> str:
    """The script for one program. arguments: the name of the shell. Raises InputError for any other."""
    import tyro  # imported here because most commands don't need it

    if len(arguments) != 1 or arguments[0] not in SHELLS:
        raise InputError(f"{OPTION} takes bash or zsh, not {' '.join(arguments) or 'nothing'}")
    kinds = [Annotated[options_of(command), tyro.conf.subcommand(name)] for name, command in commands.items()]
    together: Any = reduce(or_, kinds)
    box = io.StringIO()
    with contextlib.redirect_stdout(box), contextlib.suppress(SystemExit):
        tyro.cli(
            together, prog=program, args=["--tyro-print-completion", *arguments], config=(tyro.conf.OmitArgPrefixes,)
        )
    # A help text's second line would be offered as if it were a word.
    return re.sub(r"(?m)^COMPLETION_SPEC = .*$", lambda spec: spec[0].replace("\\n", " "), box.getvalue())


def options_of(command: Callable[[list[str]], object]) -> type:
    """The dataclass of a command's options, which it fills by `shell.options`; an empty one if it has none."""
    with shell.asking() as kinds, contextlib.suppress(InputError):
        command(["--help"])
    return kinds[0] if kinds else make_dataclass("NoOptions", [])
