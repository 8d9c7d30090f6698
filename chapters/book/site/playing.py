"""Where the playground is in the book: its own page, the front page, and the chapters; and its data."""

from html import escape
from typing import Any

from nbformat import NotebookNode

from ablations import FEWEST
from chapters.book.site.playground import offered
from chapters.book.site.rungs import chapter_of
from chapters.book.site.train_here import HERE
from tricks.ladder import COLORS

EXERCISES = "## Exercises"
FREEDOMS = 60  # degrees of freedom up to which the page has Student's quantile
START = "a=baseline,reuse,clip&lr=0.03&steps=30000&hidden=16,16"  # the first thing one sees
ABOUT = """Ten agents learn in your browser, each from its own seed. Switch tricks on and off, or compare two settings
on the same seeds. The address holds the setting, so a link shows others what you saw."""
SCRIPTS = ("playground-data.js", "lines.js", "playground-engine.js", "playground-page.js")


def place(chapter: str) -> str:
    """The small playground of a chapter, for a page in the folder of the chapters."""
    here = HERE[chapter]
    values = {"setting": here.setting, "large": "../playground.html"}
    data = " ".join(f'data-{name}="{escape(value)}"' for name, value in values.items())
    color = COLORS[here.adds[0]] if here.adds else "inherit"
    body = f'<div class="train-here mechanism" {data} style="--color: {color}"></div>'
    return f"## Train it here\n\n{here.says}\n\n```{{raw}} html\n{body}\n{scripts('../')}\n```"


def scripts(up: str = "") -> str:
    """The tags that load the playground into a page."""
    return "\n".join(f'<script defer src="{up}_static/{name}"></script>' for name in SCRIPTS)


def large(start: str = START) -> str:
    """The large playground, in which `start`, an address, is trained first."""
    return f'```{{raw}} html\n<div id="playground" data-start="{escape(start)}"></div>\n{scripts()}\n```'


def page() -> str:
    """The page of the large playground."""
    return f"# The playground\n\n{ABOUT}\n\n{large()}\n"


def add(notebook: NotebookNode, chapter: str) -> None:
    """Put the small playground of this chapter, if it has one, before the exercises."""
    if chapter not in HERE:
        return
    cell = next(each for each in notebook.cells if EXERCISES in each.source)
    cell.source = cell.source.replace(EXERCISES, f"{place(chapter)}\n\n{EXERCISES}", 1)


def played() -> dict[str, Any]:
    """Student's quantiles by degrees of freedom, the bootstrap's tails by agents, and the tricks' chapters."""
    from scipy import stats

    student = [0.0, *(float(stats.t.ppf(0.975, df)) for df in range(1, FREEDOMS + 1))]
    tails = [0.0] * FEWEST
    for n in range(FEWEST, FREEDOMS):
        tails.append(float(stats.norm.cdf(-student[n - 1] * (n / (n - 1)) ** 0.5)))
    return {"student": student, "tails": tails, "chapters": {name: chapter_of(name) for name in offered()}}
