"""A student's notebook: which chapter it answers, its code, and what was written where no check can judge it.

Nothing here runs or parses the student's code.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

import msgspec

from chapters.book.grading.asked import HEADING, Asked, Handed, cells, exercises, known, lines
from chapters.book.handout import ANSWER
from tricks.errors import InputError, said

LARGEST = 64  # MB; a chapter with all its output takes less than 2
WRITTEN = 50_000  # characters that a person may be asked to read
NAMED = re.compile(r"\W*(?:\w+\W+){0,3}?exercise\W{1,3}(?:\d{1,2}\.)?(\d{1,2})\b", re.IGNORECASE)  # in a first line
TOP = re.compile(r"\[!\[Open in |# @title Set-up")  # the two cells that a stored notebook has and its script lacks
HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


class Cell(msgspec.Struct):
    """A cell as the file has it."""

    cell_type: str
    source: str | list[str] = ""
    id: str = ""

    @property
    def text(self) -> str:
        """What stands in it."""
        return self.source if isinstance(self.source, str) else "".join(self.source)


class File(msgspec.Struct):
    """What is read of a notebook's file; outputs are not."""

    cells: list[Cell]


@dataclass(frozen=True)
class Submission:
    """A notebook that was handed in, and the chapter or the stop that it answers."""

    path: Path
    name: str
    cells: tuple[Cell, ...]

    @property
    def code(self) -> list[tuple[int, str]]:
        """Its code cells: the number of each in the notebook, from 1, and its source."""
        return [(k, cell.text) for k, cell in enumerate(self.cells, start=1) if cell.cell_type == "code"]

    def untouched(self, asked: Asked) -> bool:
        """Whether the cell for an answer is as it was handed out, and no other cell of code mentions it."""
        given = {bare(cell.text) for cell in cells(self.name)}
        about = [text for _, text in self.code if re.search(rf"\b({asked.check}|{asked.answer})\b", text)]
        return all(bare(text) in given for text in about) and any(f"def {asked.answer}(" in text for text in about)

    def written(self, asked: Asked | None) -> str:
        """What was written below an exercise that the notebook did not say when it was handed out; outside, for None.

        A cell that was handed out belongs where it did then, wherever it is now; one of the student's own to the
        exercise that its first line names or, if it names none, to that of the cell above it.
        """
        return self._written.get(asked, "")

    @cached_property
    def _written(self) -> dict[Asked | None, str]:
        whole = lines([cell.text for cell in cells(self.name)])
        without = lines([cell.without for cell in cells(self.name)])
        asked, found = None, dict[Asked | None, list[str]]()
        for cell in self.cells:
            starts = [0, *(place.start() for place in HEADING.finditer(cell.text) if place.start()), len(cell.text)]
            for start, end in pairwise(starts):
                text = cell.text[start:end]
                asked, handed = self._place(cell, text, asked)
                known = whole if ANSWER in text or "](solutions/" in text else without
                own = [line.rstrip() for line in HIDDEN.sub("", text).splitlines() if line.strip() not in known]
                if cell.cell_type == "code" and handed:  # a note in the chapter's own code is no answer
                    own = [line for line in own if not line.lstrip().startswith("#")]
                if not TOP.match(text):
                    found.setdefault(asked, []).extend(own)
        return {asked: cut("\n".join(own), WRITTEN) for asked, own in found.items()}

    def _place(self, cell: Cell, text: str, before: Asked | None) -> tuple[Asked | None, bool]:
        """The exercise that a text belongs to, and whether it was handed out."""
        by_number = {each.number: each for each in reversed(exercises(self.name))}
        heading = HEADING.match(text)
        if heading and int(heading[1]) in by_number:
            return by_number[int(heading[1])], True
        by_id, by_text = _handed_out(self.name)
        handed = by_text.get(bare(text, cell.cell_type)) or by_id.get(cell.id)
        if handed and handed.kind == cell.cell_type:
            return handed.asked, True
        named = NAMED.match(text[:200])
        return (by_number.get(int(named[1]), before) if named else before), False


@cache
def _handed_out(name: str) -> tuple[dict[str, Handed], dict[str, Handed]]:
    """The cells of a notebook by their ids and by their texts."""
    by_text = {bare(text, cell.kind): cell for cell in cells(name) for text in (cell.text, cell.without)}
    return {cell.id: cell for cell in cells(name)}, {text: cell for text, cell in by_text.items() if text}


def bare(text: str, kind: str = "code") -> str:
    """A cell's text without spaces and comments, to see whether two are the same."""
    return re.sub(r"\s+", "", re.sub(r"#.*", "", text) if kind == "code" else HIDDEN.sub("", text))


def cut(text: str, most: int) -> str:
    """A text, or its beginning and how much there is more."""
    return text if len(text) <= most else f"{text[:most]} ... and {len(text) - most} characters more"


def read(path: Path) -> Submission:
    """Read a notebook. Raises InputError for a file that is none, or none of a chapter with exercises."""
    if path.stat().st_size > LARGEST * 1_000_000:
        raise InputError(f"{path} is larger than {LARGEST} MB; clear its outputs")
    try:
        file = msgspec.json.decode(path.read_bytes().removeprefix(b"\xef\xbb\xbf"), type=File)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not a Jupyter notebook ({said(error)})") from error
    name = _name(path, file.cells)
    if name not in known():
        raise InputError(f"{path} is not a notebook of a chapter with exercises; those are {', '.join(known())}")
    return Submission(path, name, tuple(file.cells))


def _name(path: Path, given: list[Cell]) -> str:
    """The chapter or stop by its cells' ids or, if those are gone, by their texts, or by the file's name."""
    ids = Counter(cell.id.rpartition("-")[0] for cell in given)
    texts = {bare(cell.text, cell.cell_type) for cell in given}
    for shared in (ids.__getitem__, lambda name: len(texts & _handed_out(name)[1].keys())):
        best = max(known(), key=shared)
        if shared(best):
            return best
    return next((name for name in known() if name in path.name), "")
