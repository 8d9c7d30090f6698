"""Run chapters and save their outputs: `python -m chapters build [04_gae ...]`.

Writes each chapter's executed notebook and its thumbnail, and the map in README.md.
"""

import base64
import io
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import jupytext
from nbconvert.preprocessors import ExecutePreprocessor
from nbformat import NotebookNode
from PIL import Image  # comes with matplotlib

from chapters.book import inputs, setup_cells
from chapters.book.results import BUILDING
from tricks.cli.shell import POSITIONAL
from tricks.errors import InputError
from tricks.flags import meant

CHAPTERS = Path(__file__).parents[1]
PARTS = {  # the first chapter of each
    "00_reinforce": "From REINFORCE to the core of PPO",
    "05_orthogonal_init": "The details that make it work",
    "17_shared_trunk": "Beyond the ladder",
    "24_seeds_as_an_axis": "How we know",
    "29_language": "From PPO to GRPO",
    "a1_qr_signs": "Appendices",
    "a3_dual_clip": "Variants",
    "a8_robots": "Robots",
}
START, END = "<!-- map -->\n", "<!-- /map -->"
THUMBNAIL = 240  # pixels wide
TIMEOUT = 300  # seconds for a cell
# On stderr: what is compiled the first time, and that a function is not which the chapter replaces or a trick changes.
COMPILING = re.compile(
    r"(compiling for this CPU.*\n|\w+: compiled for this CPU, once, in \d+ s\n"
    r"|tricks\.\S+(, or what it reads,| runs as written,) .*\n)+"
)
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
WORDS, LINES, EXERCISE = 200, 40, 5  # read per minute, read per minute, minutes for each
FOLDED = "hide-input"  # the tag of a cell whose code is folded: in the web book, and by `marked` in Jupyter
ASKS = "-exercise-"  # in the id of a cell that begins an exercise: `03_clip-exercise-2`
FURTHER = "## Going further"  # the heading of what a first reading may leave out


@dataclass(frozen=True)
class BuildOptions:
    """Which chapters are run."""

    chapters: Annotated[tuple[str, ...], POSITIONAL] = ()
    """Chapters such as 04_gae. Default: all, and the map."""
    stale: bool = False
    """Run only those whose inputs have changed since their outputs were made."""


def names() -> list[str]:
    """The chapters in reading order, `00_reinforce`, `01_baseline`, ..., and after them the appendices, `a1_...`."""
    return sorted(path.stem for path in CHAPTERS.glob("[0-9a][0-9]_*.py"))


def parts() -> dict[str, list[str]]:
    """The chapters in reading order, by the title of their part."""
    found: dict[str, list[str]] = {}
    for name in names():
        found.setdefault([title for first, title in PARTS.items() if first <= name][-1], []).append(name)
    return found


def known(chosen: Sequence[str]) -> Sequence[str]:
    """These chapters, or all of them if there are none. Raises InputError for an unknown one."""
    if unknown := [name for name in chosen if name not in names()]:
        hint = meant(unknown[0], names()) or f"; the chapters are {', '.join(names())}"
        raise InputError(f"unknown chapter {unknown[0]!r}{hint}")
    return chosen or names()


def number(name: str) -> str:
    """A chapter's number as readers see it: `4` for `04_gae`, `A1` for the first appendix."""
    return name[:2].lstrip("0").upper() or "0"


def execute(name: str) -> NotebookNode:
    """Run a chapter from its .py and write its .ipynb with all outputs. Raises CellExecutionError if a cell fails."""
    notebook = jupytext.read(CHAPTERS / f"{name}.py")
    notebook.metadata.kernelspec = KERNEL
    os.environ |= {BUILDING: "1", "TQDM_DISABLE": "1"}  # the kernel inherits them
    runner = ExecutePreprocessor(timeout=TIMEOUT, kernel_name="python3", record_timing=False)
    runner.preprocess(notebook, {"metadata": {"path": str(CHAPTERS)}})
    notebook.metadata.pop("language_info", None)
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if not COMPILING.fullmatch(output.get("text", ""))]
    notebook.metadata[inputs.KEY] = inputs.digest(notebook)
    setup_cells.write(CHAPTERS / f"{name}.ipynb", marked(name, notebook))
    return notebook


def marked(name: str, notebook: NotebookNode) -> NotebookNode:
    """The same notebook, in which Jupyter folds what the web book folds, and every cell has an id that stays."""
    for index, cell in enumerate(notebook.cells):
        asked = re.search(r"^\*\*Exercise (\d+):", cell.source, re.MULTILINE)
        if ASKS not in cell.get("id", ""):  # a stop's exercises keep those of their chapters
            cell["id"] = f"{name}{ASKS}{asked[1]}" if asked else f"{name}-{index}"  # random ones would change
        cell.metadata.pop("jupyter", None)
        if is_folded(cell):
            cell.metadata["jupyter"] = {"source_hidden": True}
    return notebook


def is_folded(cell: NotebookNode) -> bool:
    """Whether a reader sees what comes of a cell, but its code only on request."""
    return FOLDED in cell.metadata.get("tags", [])


def thumbnail(name: str, notebook: NotebookNode) -> None:
    """Save a small version of the figure that the cell tagged `thumbnail` draws. Raises ValueError if there is none."""
    pictures = [
        output.data["image/png"]
        for cell in notebook.cells
        if "thumbnail" in cell.metadata.get("tags", [])
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    if not pictures:
        raise ValueError(f"{name}: no cell with the tag `thumbnail` draws a figure")
    path = CHAPTERS / "thumbnails" / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    with Image.open(io.BytesIO(base64.b64decode(pictures[0]))) as picture:
        height = round(picture.height * THUMBNAIL / picture.width)
        small = picture.convert("RGB").resize((THUMBNAIL, height), Image.Resampling.LANCZOS)
    small.quantize(64).save(path, "PNG", optimize=True)


def title(name: str) -> tuple[str, str]:
    """A chapter's title and the question that it answers: its first heading, and the line in italics below it.

    Raises ValueError if either is missing.
    """
    cell = jupytext.read(CHAPTERS / f"{name}.py").cells[0].source
    heading, asked = re.search(r"^# (.+)$", cell, re.M), re.search(r"^\*(.+)\*$", cell, re.M)
    if heading is None or asked is None:
        raise ValueError(f"{name}: the first cell must hold `# a title`, and below it `*a question*`")
    return heading[1], asked[1]


def minutes(name: str) -> tuple[int, int]:
    """The reading time of a built chapter: up to the heading FURTHER, and from there on."""
    cells = setup_cells.stored(CHAPTERS / f"{name}.ipynb").cells
    end = next((k for k, cell in enumerate(cells) if cell.source.startswith(FURTHER)), len(cells))
    return round(reading_time(cells[:end])), round(reading_time(cells[end:]))


def reading_time(cells: Sequence[NotebookNode]) -> float:
    """Minutes: 200 words or 40 lines of code per minute, plus five minutes per exercise.

    The lines that `listing`, `source`, and `diff` show count, too; code that is folded does not.
    """
    prose = [cell.source for cell in cells if cell.cell_type == "markdown"]
    code = [cell.source for cell in cells if cell.cell_type == "code" and not is_folded(cell)]
    shown = [out.get("data", {}).get("text/markdown", "") for cell in cells for out in cell.get("outputs", [])]
    code += [text for text in shown if text.startswith("```")]
    words = sum(len(text.split()) for text in prose)
    lines = sum(text.count("\n") + 1 for text in code)
    exercises = sum(len(re.findall(r"^\*\*Exercise", text, re.M)) for text in prose)
    return words / WORDS + lines / LINES + EXERCISE * exercises


def table_of_contents() -> str:
    """The map: one table per part, with one row per chapter."""
    lines = []
    for part, chapters in parts().items():
        lines += [f"**{part}**", "", "| | chapter | the question | minutes |", "|---|---|---|---|"]
        for name in chapters:
            heading, asked = title(name)
            picture = f'<img src="thumbnails/{name}.png" width="120" alt="">'
            first, further = minutes(name)
            spent = f"{first} + {further}" if further else f"{first}"
            lines.append(f"| {picture} | {number(name)}. [{heading}]({name}.ipynb) | {asked} | {spent} |")
        lines.append("")
    return "\n".join(lines)


def main(chosen: BuildOptions) -> int:
    """Run chapters and rewrite the stops of the two hours; a build of all chapters also rewrites the map.

    Returns the exit status. Raises InputError for an unknown chapter.
    """
    from chapters.book import two_hours  # which reads what is built here

    asked = known(chosen.chapters)
    for name in [name for name in asked if not chosen.stale or inputs.is_stale(CHAPTERS / f"{name}.ipynb")]:
        start = time.perf_counter()
        thumbnail(name, execute(name))
        print(f"{name}: {time.perf_counter() - start:.0f} seconds")
    if not chosen.chapters and not chosen.stale:
        write_map()
    two_hours.write()
    return 0


def write_map() -> None:
    """Put the table of contents into README.md."""
    write_between(START, END, table_of_contents())


def write_between(start: str, end: str, made: str) -> None:
    """Put what was made between two marks of README.md."""
    page = CHAPTERS / "README.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.split(start)[0] + start + made + end + text.split(end)[1], encoding="utf-8")
