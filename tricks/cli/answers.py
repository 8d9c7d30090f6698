"""What both command lines answer before any command: the usage, the version, and a shell's completion."""

from collections.abc import Callable, Mapping, Sequence

from tricks.cli.completion import OPTION, completion
from tricks.version import version_line


def answered(
    arguments: Sequence[str], usage: str, program: str, commands: Mapping[str, Callable[[list[str]], object]]
) -> bool:
    """Print the usage, the version or the script for completion, if the first argument asks for it."""
    first = arguments[0] if arguments else ""
    if first in ("-h", "--help"):
        print(usage)
    elif first == "--version":
        print(version_line())
    elif first == OPTION:
        print(completion(program, commands, list(arguments[1:])), end="")
    return first in ("-h", "--help", "--version", OPTION)
