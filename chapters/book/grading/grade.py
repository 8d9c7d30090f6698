"""`python -m chapters grade NOTEBOOK...`: every exercise's points, and what is wrong, for one notebook or a class."""

import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import tyro

from chapters.book.build import number
from chapters.book.grading.asked import Asked, exercises
from chapters.book.grading.judging import Limits, Verdict, apart, judge
from chapters.book.grading.submission import Submission, read
from chapters.book.two_hours import STOPS
from tricks.errors import InputError

MB = 1_000_000
BY_HAND = "by hand"
OUTPUTS = (".json", ".csv")


@dataclass(frozen=True)
class GradeOptions:
    """What is graded, within which limits, and where the grades go."""

    notebooks: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Notebooks, or folders of them."""
    out: Path | None = None
    """File for the grades: everything as .json, or one row per notebook as .csv."""
    seconds: float = 10
    """How long the answer to one exercise may run."""
    memory: int = 2000
    """Memory that an answer may take beyond the libraries, in MB (Linux)."""


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
    """The grades of one notebook; `error` says why it has none."""

    notebook: str
    name: str
    exercises: tuple[Graded, ...]
    error: str = ""

    @property
    def points(self) -> int:
        """One for each right answer."""
        return sum(each.points or 0 for each in self.exercises)

    @property
    def of(self) -> int:
        """The exercises that check themselves."""
        return sum(each.points is not None for each in self.exercises)


def main(chosen: GradeOptions) -> int:
    """Grade notebooks and print the grades. Returns the exit status. Raises InputError for bad input."""
    if chosen.seconds <= 0 or chosen.memory <= 0:
        raise InputError("--seconds and --memory must be more than 0")
    if chosen.out and chosen.out.suffix not in OUTPUTS:
        raise InputError(f"--out must end in .json or .csv, not {chosen.out.name}")
    if chosen.out and not chosen.out.absolute().parent.is_dir():
        raise InputError(f"--out: there is no folder {chosen.out.parent}")
    limits = Limits(chosen.seconds, chosen.memory * MB)
    sheets = []
    for shown, path, alone in handed_in(chosen.notebooks):
        sheets.append(sheet(shown, path, limits, strict=alone))
        print(as_text(sheets[-1]), flush=True)
    if len(sheets) > 1:
        print(table(sheets))
    print(f"The answers ran {said(limits)}.")
    if chosen.out:
        save(chosen.out, sheets, limits)
        print(f"wrote {chosen.out}")
    return 0


def said(limits: Limits) -> str:
    """What the answers' processes were kept from, and what not, on this system."""
    memory = f"with {limits.memory // MB} MB of memory" if sys.platform == "linux" else "without a limit on memory"
    network = "without network" if apart() else "with this machine's network, which could not be cut off"
    return f"for {limits.seconds:g} seconds at most, {memory}, {network}, and with your own rights to files"


def handed_in(paths: Sequence[Path]) -> list[tuple[str, Path, bool]]:
    """Each notebook: its name in reports, its file, and whether it was named itself. Raises InputError if none is."""
    if not paths:
        raise InputError("grade takes notebooks or folders of them, for example: python -m chapters grade class/")
    found: list[tuple[str, Path, bool]] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(each for each in path.rglob("*.ipynb") if ".ipynb_checkpoints" not in each.parts)
            if not inside:
                raise InputError(f"there is no notebook in {path}")
            found += [(each.relative_to(path).as_posix(), each, False) for each in inside]
        elif path.is_file():
            found.append((str(path), path, True))
        else:
            raise InputError(f"there is no file {path}")
    return found


def sheet(shown: str, path: Path, limits: Limits, *, strict: bool = True) -> Sheet:
    """Grade one notebook. One that cannot be read raises InputError if `strict`, and otherwise has the error."""
    try:
        submission = read(path)
    except (InputError, OSError) as error:
        if strict:
            raise
        return Sheet(shown, "", (), str(error))
    graded = [_graded(submission, asked, limits) for asked in exercises(submission.name)]
    return Sheet(shown, submission.name, tuple(graded))


def _graded(submission: Submission, asked: Asked, limits: Limits) -> Graded:
    if not asked.check:
        written = submission.written(asked)
        words = len(written.split())
        told = f"{words} word{'s' * (words != 1)} to read" if words else "nothing written"
        return Graded(asked.label, asked.kind, None, BY_HAND, told, written=written)
    verdict: Verdict = judge(submission.code, asked, limits)
    points = int(verdict.status == "right")
    return Graded(asked.label, asked.kind, points, verdict.status, verdict.said, verdict.uses)


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
    """Write the grades as the file's ending says."""
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows_of(sheets))
        return
    found = [asdict(each) | {"points": each.points, "of": each.of} for each in sheets]
    report = {"limits": asdict(limits) | {"network": not apart()}, "notebooks": found}
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
