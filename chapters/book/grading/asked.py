"""What a notebook asks: its exercises, from the scripts of the chapters."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import jupytext
from nbformat import NotebookNode

from chapters.book.build import CHAPTERS, names, number
from chapters.book.two_hours import STOPS, TAG, ending

HEADING = re.compile(r"^\*\*Exercise (\d+): (.+?)\*\*", re.MULTILINE)
CHECK = re.compile(r"^(check_\w+)\((\w+)\)$", re.MULTILINE)
MODULE = re.compile(r"^from (?:chapters\.)?exercises\.(\w+) import", re.MULTILINE)


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


@cache
def exercises(name: str) -> tuple[Asked, ...]:
    """The exercises of a chapter, or of a stop of the two hours, in their order."""
    stop = next((stop for stop in STOPS if stop.name == name), None)
    if stop is None:
        return _exercises(name, _cells(name))
    tagged = ((part, [cell for cell in _cells(part) if TAG in cell.metadata.get("tags", [])]) for part in stop.parts)
    return tuple(each for part, cells in tagged for each in _exercises(part, cells))


def _exercises(chapter: str, cells: Sequence[NotebookNode]) -> tuple[Asked, ...]:
    """The exercises in these cells. A check belongs to the last heading before it."""
    text = "\n".join(cell.source for cell in cells)
    module = MODULE.search(text)
    found = []
    headings = list(HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, end in zip(headings, ends, strict=False):
        check = CHECK.search(text, heading.end(), end)
        name, answer = check.groups() if check else ("", "")
        kind = heading[2].rstrip(".")
        found.append(Asked(chapter, int(heading[1]), kind, module[1] if module else "", name, answer))
    return tuple(found)


@cache
def lines(name: str) -> frozenset[str]:
    """Every line of a chapter or a stop as it is handed out, without spaces around it."""
    stop = next((stop for stop in STOPS if stop.name == name), None)
    texts = [cell.source for part in (stop.parts if stop else (name,)) for cell in _cells(part)]
    texts += [ending(STOPS.index(stop) + 1)] if stop else []
    return frozenset(line.strip() for text in texts for line in text.splitlines())


def chapter_of_module(module: str) -> str:
    """The chapter that imports this module of `chapters.exercises`; empty if none does."""
    return _chapters().get(module, "")


@cache
def _chapters() -> dict[str, str]:
    scripts = {name: (CHAPTERS / f"{name}.py").read_text(encoding="utf-8") for name in names()}
    return {module: name for name, text in scripts.items() for module in MODULE.findall(text)}


def known() -> list[str]:
    """The notebooks that can be graded: chapters and stops of the two hours."""
    return [name for name in (*names(), *(stop.name for stop in STOPS)) if exercises(name)]


@cache
def _cells(chapter: str) -> list[NotebookNode]:
    found: list[NotebookNode] = jupytext.read(CHAPTERS / f"{chapter}.py").cells
    return found
