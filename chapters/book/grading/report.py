"""The grades of notebooks: as text, as a table, and in files, which are there after every notebook."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from chapters.book.build import number
from chapters.book.grading.judging import Limits, apart
from chapters.book.two_hours import STOPS
from tricks.errors import InputError


@dataclass(frozen=True)
class Graded:
    """One exercise of a notebook. `points` is None where a person has to judge; `written` is what is to be read."""

    exercise: str
    kind: str
    points: int | None
    status: str
    said: str
    uses: tuple[str, ...] = ()
    written: str = ""


@dataclass(frozen=True)
class Sheet:
    """The grades of one notebook; `error` says why it has none. `elsewhere` was written outside of its exercises."""

    notebook: str
    name: str
    exercises: tuple[Graded, ...]
    error: str = ""
    elsewhere: str = ""
    digest: str = ""
    """Of the notebook and of all that it was judged by: with another one, it has to be graded again."""

    @property
    def points(self) -> int:
        """One for each right answer."""
        return sum(each.points or 0 for each in self.exercises)

    @property
    def of(self) -> int:
        """The exercises that check themselves."""
        return sum(each.points is not None for each in self.exercises)


def as_text(graded: Sheet) -> str:
    """A notebook's grades, one line per exercise."""
    if graded.error:
        return f"{plain(graded.notebook)}: not graded: {plain(graded.error)}\n"
    stop = next((stop for stop in STOPS if stop.name == graded.name), None)
    what = f"stop {STOPS.index(stop) + 1} of the two hours" if stop else f"chapter {number(graded.name)}"
    lines = [f"{plain(graded.notebook)}: {what}, {graded.points} of {_points(graded.of)}"]
    for each in graded.exercises:
        counted = "" if each.points is None else _points(each.points)
        uses = f" [uses {', '.join(each.uses)}]" if each.uses else ""
        told = plain(f"{each.status}: {each.said}{uses}")
        lines.append(f"  {each.exercise:5} {each.kind:16} {counted:8} {told}")
    if words := len(graded.elsewhere.split()):
        lines.append(f"  and {words} word{'s' * (words != 1)} outside of the exercises, which --out x.json has")
    return "\n".join(lines) + "\n"


def _points(number: int) -> str:
    return f"{number} point{'s' * (number != 1)}"


def plain(text: str) -> str:
    """A text of whatever origin in one line, without anything that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def table(sheets: Sequence[Sheet]) -> str:
    """A class: one row per notebook, one column per exercise that checks itself."""
    rows = rows_of(sheets)
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return (
        "\n".join("  ".join(f"{each:{w}}" for each, w in zip(row, widths, strict=True)).rstrip() for row in rows) + "\n"
    )


def rows_of(sheets: Sequence[Sheet]) -> list[list[str]]:
    """The header and the rows of the table. An exercise that a notebook does not have is left empty."""
    asked = [[each for each in graded.exercises if each.points is not None] for graded in sheets]
    labels = sorted(
        {each.exercise for row in asked for each in row}, key=lambda label: [int(x) for x in label.split(".")]
    )
    rows = [["notebook", "points", "of", *labels, "note"]]
    for graded, row in zip(sheets, asked, strict=True):
        points = {each.exercise: str(each.points) for each in row}
        totals = ["", ""] if graded.error else [str(graded.points), str(graded.of)]
        note = f"not graded: {graded.error}" if graded.error else ""
        rows.append([plain(graded.notebook), *totals, *(points.get(label, "") for label in labels), plain(note)])
    return rows


def save(path: Path, sheets: Sequence[Sheet], limits: Limits) -> None:
    """Write the grades so far: everything as .json and, if that is the file's ending, one row per notebook as .csv.

    Each file is replaced as a whole, so that there is always a complete one.
    """
    if path.suffix == ".csv":
        box = io.StringIO(newline="")
        csv.writer(box).writerows(rows_of(sheets))
        _replace(path, box.getvalue())
    found = [asdict(each) | {"points": each.points, "of": each.of} for each in sheets]
    kept = {"seconds": limits.seconds, "memory": limits.memory, "seed": limits.seed, "network": not apart()}
    text = json.dumps({"limits": kept, "notebooks": found}, indent=1, ensure_ascii=False)
    _replace(path.with_suffix(".json"), text + "\n")


def _replace(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8", errors="replace", newline="")  # a name may hold what is no letter
    new.replace(path)


class Report(msgspec.Struct):
    """What is read back of the grades of an earlier run."""

    limits: dict[str, float | bool]
    notebooks: list[Sheet]


def load(path: Path) -> tuple[dict[str, Sheet], int | None]:
    """The grades of an earlier run by notebook, and its seed. Raises InputError for a file that has none."""
    path = path.with_suffix(".json")
    if not path.exists():
        return {}, None
    try:
        report = msgspec.json.decode(path.read_bytes(), type=Report)
        return {each.notebook: each for each in report.notebooks}, int(report.limits["seed"])
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError) as error:
        raise InputError(f"{path} has no grades of this command; name another --out, or move it away") from error
