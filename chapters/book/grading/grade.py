"""`python -m chapters grade NOTEBOOK...`: every exercise's points, and what is wrong, for one notebook or a class.

Prints the grades and saves them after every notebook.
"""

import hashlib
import json
import os
import secrets
import sys
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec
import pandas as pd

from chapters.book.build import CHAPTERS, number
from chapters.book.grading.asked import Asked, exercises, known
from chapters.book.grading.fence import enforced
from chapters.book.grading.judging import STOP, UNANSWERED, Limits, apart, exercise, judge
from chapters.book.grading.submission import Submission, read
from chapters.book.two_hours import STOPS
from tricks.cli.shell import POSITIONAL
from tricks.errors import InputError, in_words
from tricks.runs.files import write_whole
from tricks.version import __version__

MB = 1_000_000
OUTPUTS = (".json", ".csv")


@dataclass(frozen=True)
class GradeOptions:
    """What is graded, within which limits, and where the grades go."""

    notebooks: Annotated[tuple[Path, ...], POSITIONAL] = ()
    """Notebooks, or folders of them."""
    out: Path | None = None
    """File for the grades: everything as .json, or also one row per notebook as .csv. A second run goes on from it."""
    seconds: float = 10
    """How long the answer to one exercise may run."""
    memory: int = 2000
    """Memory that an answer may take beyond the libraries, in MB (Linux)."""
    seed: int | None = None
    """Seed of the cases that no student can know. Without one, that of the grades so far, or a new one."""
    workers: int = 0
    """How many answers to run at a time; 0: one per core."""


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
    def checked(self) -> list[Graded]:
        """The exercises that check themselves. A right answer to one is a point."""
        return [each for each in self.exercises if each.points is not None]

    @property
    def points(self) -> int:
        """One for each right answer."""
        return sum(each.points or 0 for each in self.exercises)


class Report(msgspec.Struct):
    """What is read back of the grades of an earlier run."""

    limits: dict[str, float | bool]
    notebooks: list[Sheet]


def main(chosen: GradeOptions) -> int:
    """Grade notebooks and print the grades. Returns the exit status. Raises InputError for bad input."""
    _refuse(chosen)
    own = [chosen.out, chosen.out.with_suffix(".json")] if chosen.out else []
    found, passed = handed_in(chosen.notebooks, own)
    for path in filter(Path.is_file, chosen.notebooks):
        read(path)  # what a person named must be a notebook
    sheets, seed = load(chosen.out) if chosen.out else ({}, None)
    seed = next((each for each in (chosen.seed, seed) if each is not None), secrets.randbelow(10**6))
    limits = Limits(chosen.seconds, chosen.memory * MB, seed, (*found.values(), *own))
    _grade(found, sheets, limits, chosen)
    if len(sheets) > 1:
        print(f"{table(_sorted(sheets)).to_string(index=False)}\n")
    for what, names in (
        ("Not in this run, and kept", set(sheets) - set(found)),
        ("Not graded, because the name doesn't end in .ipynb", set(passed)),
    ):
        if names:
            print(f"{what}: {plain(', '.join(sorted(names)))}.")
    print(f"The answers ran {said(limits)}. To get the same cases again, use --seed {seed}.")
    if chosen.out:
        print(f"wrote {chosen.out}")
    return 0


def _refuse(chosen: GradeOptions) -> None:
    """Raise InputError for options that cannot be."""
    if chosen.seconds <= 0 or chosen.memory <= 0:
        raise InputError("--seconds and --memory must be more than 0")
    if chosen.workers < 0 or (chosen.seed or 0) < 0:
        raise InputError("--workers and --seed must not be negative")
    if chosen.out and chosen.out.suffix not in OUTPUTS:
        raise InputError(f"--out must end in .json or .csv, not {chosen.out.name}")
    if chosen.out and not chosen.out.absolute().parent.is_dir():
        raise InputError(f"--out: there is no folder {chosen.out.parent}")


def handed_in(paths: Sequence[Path], own: Sequence[Path] = ()) -> tuple[dict[str, Path], list[str]]:
    """Each notebook by its name in reports, and the names of a folder's other files but for our own.

    Raises InputError if there is none.
    """
    if not paths:
        raise InputError("grade takes notebooks or folders of them, for example: python -m chapters grade class/")
    found, passed, ours = dict[str, Path](), list[str](), [each.absolute() for each in own]
    for path in paths:
        if not path.exists():
            raise InputError(f"there is no file {path}")
        seen = [each for each in sorted(path.rglob("*")) if each.is_file() and not _hidden(each.relative_to(path))]
        notebooks = [each for each in seen if each.suffix.lower() == ".ipynb"] if path.is_dir() else [path]
        if not notebooks:
            raise InputError(f"there is no notebook in {path}")
        for each in [*notebooks, *(each for each in seen if each.absolute() not in ours)]:
            name = each if len(paths) > 1 or each == path else each.relative_to(path)
            shown = name.as_posix().encode(errors="backslashreplace").decode()  # a file's name can be no text
            passed += [] if each in notebooks else [shown]
            found |= {shown: each} if each in notebooks else {}
    return found, passed


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part in ("__MACOSX", "__pycache__") for part in path.parts)


def _grade(found: Mapping[str, Path], sheets: dict[str, Sheet], limits: Limits, chosen: GradeOptions) -> None:
    """Grade the notebooks that are not yet among these sheets, and write and print each when it is done."""
    for asked in (each for name in known() for each in exercises(name) if each.check):
        exercise(asked)  # loaded before any student's code runs
    digests = {shown: digest(path, limits) for shown, path in found.items()}
    todo = {shown: found[shown] for shown, own in digests.items() if shown not in sheets or sheets[shown].digest != own}
    if len(todo) < len(found):
        print(f"{len(found) - len(todo)} of {len(found)} notebooks have their grades in {chosen.out} already\n")
    if chosen.out:
        save(chosen.out, _sorted(sheets), limits)
    count = 0
    try:
        with closing(in_turn(todo, digests, limits, chosen.workers or os.cpu_count() or 1)) as finished:
            for count, graded in enumerate(finished, start=1):
                sheets[graded.notebook] = graded
                if chosen.out:
                    save(chosen.out, _sorted(sheets), limits)
                print(f"{f'[{count}/{len(todo)}] ' * (len(todo) > 1)}{as_text(graded)}", flush=True)
    except KeyboardInterrupt as stop:
        kept = f"; the same command goes on with {chosen.out}" if chosen.out else ""
        raise KeyboardInterrupt(f" after {count} of {len(todo)} notebooks{kept}") from stop


def _sorted(sheets: dict[str, Sheet]) -> list[Sheet]:
    return [sheets[name] for name in sorted(sheets)]


def in_turn(
    todo: Mapping[str, Path], digests: dict[str, str], limits: Limits, workers: int
) -> Generator[Sheet, None, None]:
    """Grade notebooks, several at a time, and hand each over when it is done. What is left ends with this generator."""
    pool = ThreadPoolExecutor(workers)
    try:
        jobs = [pool.submit(sheet, shown, path, limits, digests[shown]) for shown, path in todo.items()]
        for done in as_completed(jobs):
            yield done.result()
    finally:
        STOP.set()
        pool.shutdown(cancel_futures=True)
        STOP.clear()


def digest(path: Path, limits: Limits) -> str:
    """Of a notebook, and of what it is judged by: the exercises, the cases, the limits. Empty if it cannot be read."""
    given = f"{limits.seconds} {limits.memory} {limits.seed} {judged_by()}"
    try:
        with path.open("rb") as file:
            return hashlib.sha256(hashlib.file_digest(file, "sha256").digest() + given.encode()).hexdigest()[:16]
    except OSError:
        return ""


@cache
def judged_by() -> str:
    """The version of the library, and a digest of the chapters, the exercises, and what grades them."""
    folders = (CHAPTERS, CHAPTERS / "exercises", Path(__file__).parents[1], Path(__file__).parent)
    sources = sorted(path for folder in folders for path in folder.glob("*.py"))
    return __version__ + hashlib.sha256(b"".join(each.read_bytes() for each in sources)).hexdigest()


def sheet(shown: str, path: Path, limits: Limits, digest: str = "") -> Sheet:
    """Grade one notebook. Whatever is wrong with it is its own error, and ends nothing else."""
    try:
        submission = read(path)
        graded = tuple(_graded(submission, asked, limits) for asked in exercises(submission.name))
        return Sheet(shown, submission.name, graded, "", submission.written(None), digest)
    except InputError as error:
        return Sheet(shown, "", (), str(error), "", digest)
    except Exception as error:
        return Sheet(shown, "", (), in_words(error))  # without a digest: it may be graded the next time


def _graded(submission: Submission, asked: Asked, limits: Limits) -> Graded:
    if not asked.check:
        written = submission.written(asked)
        status = "by hand" if written else UNANSWERED.status
        told = f"{_counted(len(written.split()), 'word')} to read" if written else "nothing written"
        return Graded(asked.label, asked.kind, None, status, told, written=written)
    verdict = UNANSWERED if submission.untouched(asked) else judge(submission.code, asked, limits)
    points = int(verdict.status == "right")
    return Graded(asked.label, asked.kind, points, verdict.status, verdict.said, verdict.uses)


def said(limits: Limits) -> str:
    """What the answers' processes were kept from, and what not, on this system."""
    memory = f"with {limits.memory // MB} MB of memory" if sys.platform == "linux" else "without a limit on memory"
    network = "without network" if apart() else "with this machine's network, which could not be cut off"
    files = "with the libraries and one empty folder as their only files"
    if not enforced():
        files = "with your own rights to files as soon as they go around Python"
    return f"for {limits.seconds:g} seconds at most, {memory}, {network}, and {files}"


def as_text(graded: Sheet) -> str:
    """A notebook's grades, one line per exercise."""
    if graded.error:
        return f"{plain(graded.notebook)}: not graded: {plain(graded.error)}\n"
    stop = next((k for k, stop in enumerate(STOPS, start=1) if stop.name == graded.name), None)
    what = f"stop {stop} of the two hours" if stop else f"chapter {number(graded.name)}"
    of = _counted(len(graded.checked), "point")
    lines = [f"{plain(graded.notebook)}: {what}, {graded.points} of {of}"]
    for each in graded.exercises:
        counted = "" if each.points is None else _counted(each.points, "point")
        uses = f" [uses {', '.join(each.uses)}]" if each.uses else ""
        told = plain(f"{each.status}: {each.said}{uses}")
        lines.append(f"  {each.exercise:5} {each.kind:16} {counted:8} {told}")
    if words := len(graded.elsewhere.split()):
        lines.append(f"  and {_counted(words, 'word')} outside of the exercises, which --out x.json has")
    return "\n".join(lines) + "\n"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def plain(text: str) -> str:
    """A text of whatever origin in one line, without anything that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def table(sheets: Sequence[Sheet]) -> pd.DataFrame:
    """A class: one row per notebook, one column per exercise that checks itself; empty where a notebook lacks it."""
    asked = {each.exercise for graded in sheets for each in graded.checked}
    labels = sorted(asked, key=lambda label: [int(x) for x in label.split(".")])
    columns, rows = ["notebook", "points", "of", *labels, "note"], []
    for graded in sheets:
        totals = {} if graded.error else {"points": str(graded.points), "of": str(len(graded.checked))}
        note = plain(f"not graded: {graded.error}") if graded.error else ""
        points = {each.exercise: str(each.points) for each in graded.checked}
        found = {"notebook": plain(graded.notebook), **totals, **points, "note": note}
        rows.append(dict.fromkeys(columns, "") | found)
    return pd.DataFrame(rows, columns=columns)


def save(path: Path, sheets: Sequence[Sheet], limits: Limits) -> None:
    """Write the grades so far: everything as .json and, if that is the file's ending, one row per notebook as .csv.

    Each file is replaced as a whole, so that there is always a complete one.
    """
    if path.suffix == ".csv":
        write_whole(path, table(sheets).to_csv(index=False))
    found = [asdict(each) | {"points": each.points, "of": len(each.checked)} for each in sheets]
    kept = {"seconds": limits.seconds, "memory": limits.memory, "seed": limits.seed, "network": not apart()}
    text = json.dumps({"limits": kept, "notebooks": found}, indent=1, ensure_ascii=False)
    write_whole(path.with_suffix(".json"), f"{text}\n".encode(errors="replace"))  # a name may hold what is no letter


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
