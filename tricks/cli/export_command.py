"""`python -m tricks export`: one file to take home."""

from dataclasses import dataclass
from typing import Annotated

import tyro

from tricks.cli.parsing import parse
from tricks.config import Config


@dataclass(frozen=True)
class File:
    """What the file is for."""

    images: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Observations are images [C, H, W] of uint8. Those of an ALE game always are."""


def export(arguments: list[str]) -> None:
    """Print one file that trains with these flags and numbers."""
    from tricks.reading.export import export

    tricks, (config, file) = parse(arguments, "export", Config, File)
    print(export(tricks, config, file.images), end="")
