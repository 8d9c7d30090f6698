"""What a notebook asks, and its cells as they are handed out, from the scripts of the chapters."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import jupytext
from nbformat import NotebookNode

from chapters.book.build import ASKS, CHAPTERS, marked, names, number
from chapters.book.handout import without_answers
from chapters.book.two_hours import STOPS, notebook

HEADING = re.compile(r"^\*\*Exercise (\d{1,3}): (.+?)\*\*", re.MULTILINE)
CHECK = re.compile(r"^(check_\w+)\((\w+)\)$", re.MULTILINE)
MODULE = re.compile(r"^from chapters\.exercises\.(\w+) import", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """An exercise: its chapter, its number there, and what it asks for: `write it`, `think`, `spot the bug`."""

    chapter: str
    number: int
    kind: str
    module: str
    """The module of `chapters.exercises` that its chapter imports."""
    check: str
    """The name of its check there; empty if the exercise doesn't check itself."""
    answer: str
    """The name of the function that the reader is to write."""

    @property
    def label(self) -> str:
        """`3.1`: exercise 1 of chapter 3."""
        return f"{number(self.chapter)}.{self.number}"


@dataclass(frozen=True)
class Handed:
    """A cell as it is handed out, and the exercise that it belongs to. `without` is its text in a students' copy."""

    id: str
    kind: str
    text: str
    without: str
    asked: Asked | None


@cache
def cells(name: str) -> tuple[Handed, ...]:
    """The cells of a chapter, or of a stop of the two hours, as they are handed out."""
    stops = [stop.name for stop in STOPS]
    whole = notebook(stops.index(name) + 1, _script) if name in stops else _script(name)
    texts = iter(without_answers([cell.source for cell in whole.cells if cell.cell_type == "markdown"], ""))
    found, asked = list[Handed](), None
    for cell in whole.cells:
        chapter, asks, which = cell.id.partition(ASKS)
        if asks:
            asked = next(each for each in _exercises(chapter) if each.number == int(which))
        elif cell.source.startswith("## "):
            asked = None
        without = next(texts) if cell.cell_type == "markdown" else cell.source
        found.append(Handed(cell.id, cell.cell_type, cell.source, without, asked))
    return tuple(found)


@cache
def exercises(name: str) -> tuple[Asked, ...]:
    """The exercises of a chapter, or of a stop of the two hours, in their order."""
    return tuple(dict.fromkeys(cell.asked for cell in cells(name) if cell.asked))


@cache
def _exercises(chapter: str) -> tuple[Asked, ...]:
    """The exercises of a chapter. A check belongs to the last heading before it."""
    text = "\n".join(cell.source for cell in _script(chapter).cells)
    module, headings = MODULE.search(text), list(HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    found = []
    for heading, end in zip(headings, ends, strict=True):
        check = CHECK.search(text, heading.end(), end)
        name, answer = check.groups() if check else ("", "")
        kind = heading[2].rstrip(".")
        found.append(Asked(chapter, int(heading[1]), kind, module[1] if module else "", name, answer))
    return tuple(found)


def known() -> list[str]:
    """The notebooks that can be graded: chapters and stops of the two hours."""
    return [name for name in (*names(), *(stop.name for stop in STOPS)) if exercises(name)]


def lines(texts: Sequence[str]) -> frozenset[str]:
    """Every line of these texts, without spaces around it."""
    return frozenset(line.strip() for text in texts for line in text.splitlines())


@cache
def _script(chapter: str) -> NotebookNode:
    return marked(chapter, jupytext.read(CHAPTERS / f"{chapter}.py"))
