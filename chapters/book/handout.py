"""`python -m chapters handout student.zip`: the last commit as students get it, without the answers to the exercises.

It unpacks into one folder. It lacks `chapters/solutions`, what links to them, the answers that are folded below
exercises, the tests, and the badges, which open the published notebooks. Hints stay.
"""

import io
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from zipfile import BadZipFile, ZipFile

from tricks.cli.shell import POSITIONAL
from tricks.errors import InputError

CLONE = Path(__file__).parents[2]
WITHHELD = ("chapters/solutions/", "tests/")
ANSWER, END = "<details><summary>Answer</summary>", "</details>"
# A sentence with a link to solutions; the period in a file's name doesn't end it.
POINTER = re.compile(r"[A-Z](?:[^.\n]|\.(?=\S))*\]\(solutions(?:[^.\n]|\.(?=\S))*\.\s*")


@dataclass(frozen=True)
class HandoutOptions:
    """Where the copy goes."""

    file: Annotated[Path, POSITIONAL] = Path("student.zip")
    """File for the copy; its name ends in .zip."""


def main(chosen: HandoutOptions) -> int:
    """Write the copy. Returns the exit status. Raises InputError for a bad file, or outside a clone."""
    if chosen.file.suffix != ".zip":
        raise InputError(f"the name of a handout must end in .zip, not {chosen.file.name}")
    if not chosen.file.absolute().parent.is_dir():
        raise InputError(f"there is no folder {chosen.file.parent}")
    with committed() as whole, ZipFile(chosen.file, "w") as copy:
        for each in whole.infolist():
            if not each.filename.startswith(WITHHELD):
                content = handed_out(each.filename, whole.read(each))
                each.filename = f"{chosen.file.stem}/{each.filename}"
                copy.writestr(each, content)
    print(f"wrote {chosen.file}: the last commit, without the answers to the exercises")
    return 0


def committed() -> ZipFile:
    """All files of the last commit. Raises InputError where git has none."""
    try:
        done = subprocess.run(["git", "archive", "--format=zip", "HEAD"], cwd=CLONE, capture_output=True)
        return ZipFile(io.BytesIO(done.stdout))
    except (OSError, BadZipFile) as error:
        raise InputError("handout packs the last commit of a clone, and git finds none here") from error


def handed_out(name: str, content: bytes) -> bytes:
    """A file of the repository as students get it."""
    path = Path(name)
    if path.parent != Path("chapters") or path.suffix not in (".py", ".ipynb", ".md"):
        return content
    text = content.decode()
    if path.suffix != ".ipynb":
        return "\n".join(without_answers([text], "#" if path.suffix == ".py" else "")).encode()
    notebook = json.loads(text)
    notebook["cells"] = [cell for cell in notebook["cells"] if cell.get("id") != f"{path.stem}-badges"]
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    for cell, source in zip(cells, without_answers(("".join(cell["source"]) for cell in cells), ""), strict=True):
        cell["source"] = source.splitlines(keepends=True)
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def without_answers(texts: Iterable[str], mark: str) -> Iterator[str]:
    """Texts without the answers below exercises and without pointers to solutions. Each line begins with the mark.

    An exercise ends at the next heading or question, perhaps in a later text.
    """
    exercise = answer = False
    for text in texts:
        kept = list[str]()
        for line in text.split("\n"):
            bare = line.removeprefix(mark).strip()
            if bare.startswith(("## ", "**Question")):
                exercise = False
            exercise |= bare.startswith("**Exercise")
            if exercise and bare == ANSWER:
                answer = True
                kept.pop()  # the empty line above it
            if not answer:
                kept.append(line)
            answer &= bare != END
        yield POINTER.sub("", "\n".join(kept))
