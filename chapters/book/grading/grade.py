"""`python -m chapters grade NOTEBOOK...`: every exercise's points, and what is wrong, for one notebook or a class."""

import hashlib
import os
import secrets
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from chapters.book.build import CHAPTERS
from chapters.book.grading.asked import Asked, exercises, known
from chapters.book.grading.fence import enforced
from chapters.book.grading.judging import STOP, UNANSWERED, Limits, apart, exercise, judge
from chapters.book.grading.report import Graded, Sheet, as_text, load, plain, save, table
from chapters.book.grading.submission import Submission, read
from tricks.cli.shell import POSITIONAL
from tricks.errors import InputError, in_words
from tricks.version import __version__

MB = 1_000_000
BY_HAND = "by hand"
OUTPUTS = (".json", ".csv")
MOST = 20  # names in a line
HandedIn = tuple[str, Path, bool]  # its name in reports, its file, and whether it was named itself


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


def main(chosen: GradeOptions) -> int:
    """Grade notebooks and print the grades. Returns the exit status. Raises InputError for bad input."""
    _refuse(chosen)
    own = [chosen.out, chosen.out.with_suffix(".json")] if chosen.out else []
    found, passed = handed_in(chosen.notebooks, own)
    for _, path, alone in found:
        if alone:
            read(path)  # what a person named must be a notebook
    sheets, seed = load(chosen.out) if chosen.out else ({}, None)
    seed = next((each for each in (chosen.seed, seed) if each is not None), secrets.randbelow(10**6))
    limits = Limits(chosen.seconds, chosen.memory * MB, seed, (*(path for _, path, _ in found), *own))
    _grade(found, sheets, limits, chosen)
    if len(sheets) > 1:
        print(table(_sorted(sheets)))
    for what, names in (
        ("Not in this run, and kept", set(sheets) - {shown for shown, _, _ in found}),
        ("Not graded, because the name doesn't end in .ipynb", set(passed)),
    ):
        if names:
            print(f"{what}: {plain(', '.join(sorted(names)[:MOST]))}{' and more' * (len(names) > MOST)}.")
    print(f"The answers ran {said(limits)}. To get the same cases again, use --seed {seed}.")
    if chosen.out:
        print(f"wrote {chosen.out}")
    return 0


def _grade(found: Sequence[HandedIn], sheets: dict[str, Sheet], limits: Limits, chosen: GradeOptions) -> None:
    """Grade the notebooks that are not yet among these sheets, and write and print each when it is done."""
    for name in known():
        for asked in exercises(name):
            exercise(asked) if asked.check else None  # loaded before any student's code runs
    digests = {shown: digest(path, limits) for shown, path, _ in found}
    todo = [each for each in found if each[0] not in sheets or sheets[each[0]].digest != digests[each[0]]]
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


def _sorted(sheets: dict[str, Sheet]) -> list[Sheet]:
    return [sheets[name] for name in sorted(sheets)]


def in_turn(
    todo: Sequence[HandedIn], digests: dict[str, str], limits: Limits, workers: int
) -> Generator[Sheet, None, None]:
    """Grade notebooks, several at a time, and hand each over when it is done. What is left ends with this generator."""
    pool = ThreadPoolExecutor(workers)
    try:
        jobs = [pool.submit(sheet, shown, path, limits, digests[shown]) for shown, path, _ in todo]
        for done in as_completed(jobs):
            yield done.result()
    finally:
        STOP.set()
        pool.shutdown(cancel_futures=True)
        STOP.clear()


def said(limits: Limits) -> str:
    """What the answers' processes were kept from, and what not, on this system."""
    memory = f"with {limits.memory // MB} MB of memory" if sys.platform == "linux" else "without a limit on memory"
    network = "without network" if apart() else "with this machine's network, which could not be cut off"
    files = "with the libraries and one empty folder as their only files"
    if not enforced():
        files = "with your own rights to files as soon as they go around Python"
    return f"for {limits.seconds:g} seconds at most, {memory}, {network}, and {files}"


def handed_in(paths: Sequence[Path], own: Sequence[Path] = ()) -> tuple[list[HandedIn], list[str]]:
    """Each notebook, once, and the names of a folder's other files but for our own.

    Raises InputError if there is none.
    """
    if not paths:
        raise InputError("grade takes notebooks or folders of them, for example: python -m chapters grade class/")
    found, passed = dict[Path, HandedIn](), list[str]()
    for path in paths:
        if path.is_dir():
            files = sorted(each for each in path.rglob("*") if each.is_file() and not _hidden(each.relative_to(path)))
            inside = [each for each in files if each.suffix.lower() == ".ipynb"]
            if not inside:
                raise InputError(f"there is no notebook in {path}")
            shown = {each: _shown(each if len(paths) > 1 else each.relative_to(path)) for each in files}
            ours = [each.absolute() for each in own]
            passed += [shown[each] for each in files if each not in inside and each.absolute() not in ours]
            for each in inside:
                found.setdefault(each.absolute(), (shown[each], each, False))
        elif path.is_file():
            found[path.absolute()] = (_shown(path), path, True)
        else:
            raise InputError(f"there is no file {path}")
    return list(found.values()), passed


def _shown(path: Path) -> str:
    return path.as_posix().encode(errors="backslashreplace").decode()  # a file's name can be no text


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part in ("__MACOSX", "__pycache__") for part in path.parts)


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
        words = len(written.split())
        told = f"{words} word{'s' * (words != 1)} to read" if words else "nothing written"
        return Graded(asked.label, asked.kind, None, BY_HAND if words else UNANSWERED.status, told, written=written)
    verdict = UNANSWERED if submission.untouched(asked) else judge(submission.code, asked, limits)
    points = int(verdict.status == "right")
    return Graded(asked.label, asked.kind, points, verdict.status, verdict.said, verdict.uses)
