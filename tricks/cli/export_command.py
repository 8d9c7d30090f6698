"""`python -m tricks export`: one file to take home."""

from tricks.cli.parsing import parse
from tricks.config import Config


def export(arguments: list[str]) -> None:
    """Print one file that trains with these flags and numbers."""
    from tricks.reading.export import export

    tricks, (config,) = parse(arguments, "export", Config)
    print(export(tricks, config), end="")
