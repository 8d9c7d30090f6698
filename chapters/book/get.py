"""`python -m chapters get 03_clip`: chapters as notebooks of one's own, not yet run, in the current folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import jupytext

from chapters.book.build import CHAPTERS, KERNEL, known, marked
from tricks.cli.shell import POSITIONAL
from tricks.errors import InputError


@dataclass(frozen=True)
class GetOptions:
    """Which chapters are wanted."""

    chapters: Annotated[tuple[str, ...], POSITIONAL] = ()
    """Chapters such as 03_clip."""


def main(chosen: GetOptions) -> int:
    """Write notebooks from the scripts that are installed. Returns the exit status.

    Raises InputError for an unknown chapter, and for a file that is there already; then nothing is written.
    """
    if not chosen.chapters:
        raise InputError("get takes chapters, such as 03_clip")
    paths = {name: Path(f"{name}.ipynb") for name in known(chosen.chapters)}
    if there := [path for path in paths.values() if path.exists()]:
        raise InputError(f"{there[0]} is there already, and may hold your work; rename it or go to another folder")
    for name, path in paths.items():
        notebook = marked(name, jupytext.read(CHAPTERS / f"{name}.py"))
        notebook.metadata.kernelspec = KERNEL
        jupytext.write(notebook, path)
        print(f"wrote {path}; to open it: jupyter lab {path}")
    return 0
