"""`python -m chapters`: what makes the notebooks and the web book, and what a teacher does with them."""

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tricks.cli.shell import chosen, guarded, options
from tricks.core.extras import extra
from tricks.errors import InputError

CLONE = Path(__file__).parents[1]
USAGE = """usage: python -m chapters COMMAND ...

  build    run chapters and save their outputs: python -m chapters build 04_gae (without names: all, and the map),
           and write the stops of the two hours from them; --stale: those whose inputs have changed since
  get      write chapters as notebooks into the current folder: python -m chapters get 03_clip
  grade    run and judge the exercises of notebooks: python -m chapters grade 03_clip.ipynb class/
  clips    train an agent for every rung, and film it
  handout  pack the repository for students, without the answers: python -m chapters handout student.zip
  lines    learn which line of the loop is there with which flags (after a change of the loop)
  picture  film the playground of the web book, for the README: python -m chapters picture
  setup    write badges, set-up cells, and the cards' evidence into the saved notebooks again (after a change of
           version, address, or stored results)
  site     make the web book from the saved notebooks
  slides   make slides from the saved notebooks: python -m chapters slides 03_clip (without names: of all)

All of them but get and grade work on a clone of the repository."""


COMMANDS = {  # the module of each, and the class of its options there
    "build": ("build", "BuildOptions"),
    "clips": ("clips", ""),
    "get": ("get", "GetOptions"),
    "grade": ("grading.grade", "GradeOptions"),
    "handout": ("handout", "HandoutOptions"),
    "lines": ("lines", ""),
    "picture": ("site.moving", "PictureOptions"),
    "setup": ("setup_cells", ""),
    "site": ("site.website", "SiteOptions"),
    "slides": ("slides.deck", "SlidesOptions"),
}


@dataclass(frozen=True)
class NoOptions:
    """A command takes none."""


def main(arguments: list[str]) -> int:
    """Run one command. Returns the exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    where, kind = chosen(arguments[0], COMMANDS)
    if arguments[0] not in ("get", "grade") and not (CLONE / "pyproject.toml").is_file():
        raise InputError(f"{arguments[0]} needs a clone of the repository, which an installed package is not")
    for package in ("jupytext", "nbconvert"):
        extra("site" if arguments[0] in ("site", "slides") else "chapters", package)
    module = import_module(f"chapters.book.{where}")
    asked = options(getattr(module, kind, NoOptions), arguments[1:], f"python -m chapters {arguments[0]}")
    status: int = module.main(asked) if kind else module.main()
    return status


if __name__ == "__main__":
    sys.exit(guarded(main, sys.argv[1:]))
