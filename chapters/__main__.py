"""`python -m chapters`: what makes the notebooks and the web book, and what a teacher does with them."""

import sys
from pathlib import Path

from tricks.cli.shell import chosen, guarded, options
from tricks.core.extras import extra
from tricks.errors import InputError
from tricks.flags import meant

CLONE = Path(__file__).parents[1]
USAGE = """usage: python -m chapters COMMAND ...

  build    run chapters and save their outputs: python -m chapters build 04_gae (without names: all, and the map),
           and write the six stops of the two hours from them; --stale: those whose inputs have changed since
  grade    run and judge the exercises of notebooks: python -m chapters grade 03_clip.ipynb class/
  clips    train an agent for every rung, and film it
  handout  pack the repository for students, without the answers: python -m chapters handout student.zip
  lines    learn which line of the loop is there with which flags (after a change of the loop)
  setup    write badges and set-up cells into the saved notebooks again (after a change of version or address)
  site     make the web book from the saved notebooks
  slides   make slides from the saved notebooks: python -m chapters slides 03_clip (without names: of all)

All of them but grade work on a clone of the repository."""


def main(arguments: list[str]) -> int:
    """Run one command. Returns the exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    command = chosen(arguments[0], COMMANDS)
    if arguments[0] != "grade" and not (CLONE / "pyproject.toml").is_file():
        raise InputError(f"{arguments[0]} needs a clone of the repository, which an installed package is not")
    for package in ("jupytext", "nbconvert"):
        extra("site" if arguments[0] in ("site", "slides") else "chapters", package)
    return command(arguments[1:])


def _build(names: list[str]) -> int:
    from chapters.book import build, two_hours

    if names != [build.STALE] and (unknown := [name for name in names if name not in build.names()]):
        hint = meant(unknown[0], build.names()) or f"; the chapters are {', '.join(build.names())}"
        raise InputError(f"unknown chapter {unknown[0]!r}{hint}")
    build.main(names)
    two_hours.write()
    return 0


def _site(arguments: list[str]) -> int:
    from chapters.book.site import website

    return website.main(options(website.SiteOptions, arguments, "python -m chapters site"))


def _clips(arguments: list[str]) -> int:
    from chapters.book import clips

    return _alone("clips", arguments) or clips.main()


def _handout(arguments: list[str]) -> int:
    from chapters.book import handout

    return handout.main(options(handout.HandoutOptions, arguments, "python -m chapters handout"))


def _lines(arguments: list[str]) -> int:
    from chapters.book import lines

    return _alone("lines", arguments) or lines.main()


def _setup(arguments: list[str]) -> int:
    from chapters.book import setup_cells

    return _alone("setup", arguments) or setup_cells.main()


def _grade(arguments: list[str]) -> int:
    from chapters.book.grading import grade

    return grade.main(options(grade.GradeOptions, arguments, "python -m chapters grade"))


def _slides(arguments: list[str]) -> int:
    from chapters.book.slides import deck

    return deck.main(options(deck.SlidesOptions, arguments, "python -m chapters slides"))


def _alone(name: str, arguments: list[str]) -> int:
    """0 for a command without arguments. Raises InputError for any argument."""
    if arguments:
        raise InputError(f"{name} takes no arguments, not {arguments[0]}")
    return 0


COMMANDS = {
    "build": _build,
    "clips": _clips,
    "grade": _grade,
    "handout": _handout,
    "lines": _lines,
    "setup": _setup,
    "site": _site,
    "slides": _slides,
}

if __name__ == "__main__":
    sys.exit(guarded(main, sys.argv[1:]))
