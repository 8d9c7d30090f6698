"""A student's notebook: which chapter it answers, its code, and what was written where no check can judge it.

Nothing here runs or parses the student's code.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import msgspec

from chapters.book.grading.asked import HEADING, MODULE, Asked, chapter_of_module, known, lines
from tricks.errors import InputError, said

LARGEST = 64  # MB; a chapter with all its output takes less than 2


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
    def code(self) -> list[str]:
        """The sources of its code cells."""
        return [cell.text for cell in self.cells if cell.cell_type == "code"]

    def written(self, asked: Asked) -> str:
        """The lines below an exercise's heading that the notebook did not have when it was handed out."""
        begun, found = False, list[str]()
        for cell in self.cells:
            heading = HEADING.search(cell.text)
            if heading and int(heading[1]) == asked.number and asked.kind in heading[2]:
                begun = True
            elif begun and (heading or re.match(r"## ", cell.text)):
                break
            if begun:
                found += [line for line in cell.text.splitlines() if line.strip() not in lines(self.name)]
        return "\n".join(found)


def read(path: Path) -> Submission:
    """Read a notebook. Raises InputError for a file that is none, or none of a chapter with exercises."""
    if path.stat().st_size > LARGEST * 1_000_000:
        raise InputError(f"{path} is larger than {LARGEST} MB; clear its outputs")
    try:
        cells = msgspec.json.decode(path.read_bytes(), type=File).cells
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a Jupyter notebook ({said(error)})") from error
    name = _name(path, cells)
    if name not in known():
        raise InputError(f"{path} is not a notebook of a chapter with exercises; those are {', '.join(known())}")
    return Submission(path, name, tuple(cells))


def _name(path: Path, cells: list[Cell]) -> str:
    """The chapter or stop by what its cells import, their ids, or, if those are gone, the file's name."""
    ids = Counter(cell.id.rpartition("-")[0] for cell in cells)
    by_id = max(known(), key=lambda name: ids[name])
    if ids[by_id]:
        return by_id
    modules = Counter(module for cell in cells for module in MODULE.findall(cell.text))
    if modules:
        return chapter_of_module(modules.most_common(1)[0][0])
    return next((name for name in known() if name in path.name), "")
