"""Where the playground is in the book: its own page, the front page, and the chapters; and its data."""

from html import escape
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from ablations import FEWEST
from chapters.book.build import names
from chapters.book.site.playground import offered
from chapters.book.site.rungs import chapter_of
from chapters.book.site.train_here import HERE
from tricks.ladder import COLORS

EXERCISES = "## Exercises"
QUESTION = "**Question.**"  # what the section about a trick in "Going further" ends with
FREEDOMS = 60  # degrees of freedom up to which the page has Student's quantile
RATES = 7  # learning rates at which "At every rate" trains
START = "a=baseline,reuse,clip&lr=0.03&steps=30000&hidden=16,16"  # the first thing one sees
ABOUT = """Ten agents learn in your browser, each from its own seed, its luck. Switch tricks on and off: what was before
stays as a faded line. Or compare two settings. The address holds the setting, so a link shows others what you saw."""
SCRIPTS = ("playground-data.js", "lines.js", "playground-engine.js", "playground-page.js")
INVITED = {  # chapters whose pages lead to what else the playground has
    "reading_the_diagnostics": "## Guess the fault\n\nThe playground plants one of these five at random and shows its "
    "diagnostics beside those of a sound run, while both learn. "
    '<a href="../playground.html#guess=random">Which one is it?</a>',
    "your_own_trick": "## Try a line in the browser\n\nIn the playground, the line of the clip is yours to edit: "
    '<a href="../playground.html#a=baseline,reuse,clip&b=baseline,reuse,clip&lr=0.03&steps=30000&hidden=16,16'
    '&b.objective=clamp(ratio,1-eps,1%2Beps)*advantage">leave its `min` out</a>, bend it, or write another one. Its '
    "slope is drawn beside it, and ten agents train with it at once.",
}


def place(name: str, heading: str = "##") -> str:
    """A small playground for a page in the chapters' folder; `scripts` must follow it."""
    here = HERE[name]
    values = {"setting": here.setting, "large": "../playground.html"}
    data = " ".join(f'data-{name}="{escape(value)}"' for name, value in values.items())
    color = COLORS[here.adds[0]] if here.adds else "inherit"
    body = f'<div class="train-here mechanism" {data} style="--color: {color}"></div>'
    return f"{heading} Train it here\n\n{here.says}\n\n{raw(body)}"


def scripts(up: str = "") -> str:
    """What loads the playground into a page, once for all places on it."""
    return raw("\n".join(f'<script defer src="{up}_static/{name}"></script>' for name in SCRIPTS))


def raw(html: str) -> str:
    """HTML in a page of Markdown."""
    return f"```{{raw}} html\n{html}\n```"


def large() -> str:
    """The large playground, in which START is trained first."""
    body = f'<div id="playground" data-start="{escape(START)}"></div>'
    return f"{raw(body)}\n\n{scripts()}"


def page() -> str:
    """The page of the large playground."""
    return f"# The playground\n\n{ABOUT}\n\n{large()}\n"


def home(name: str) -> str:
    """The chapter of a small playground: its own, or the one that goes further to this trick."""
    return name if name in {chapter[3:] for chapter in names()} else chapter_of(name)[3:]


def add(notebook: NotebookNode, chapter: str) -> None:
    """Put a chapter's own small playground before its exercises, and others where it goes further."""
    shown = [name for name in HERE if home(name) == chapter]
    for name in shown:
        mark, heading = (EXERCISES, "##") if name == chapter else (QUESTION, "####")
        _insert(notebook, place(name, heading), mark)
    if chapter in INVITED:
        _insert(notebook, INVITED[chapter], EXERCISES)
    if shown:
        notebook.cells.append(new_markdown_cell(scripts("../")))


def _insert(notebook: NotebookNode, text: str, mark: str) -> None:
    """Put a text before the first place that has this mark."""
    cell = next(each for each in notebook.cells if mark in each.source)
    cell.source = cell.source.replace(mark, f"{text}\n\n{mark}", 1)


def played() -> dict[str, Any]:
    """Student's quantiles by degrees of freedom, the bootstrap's tails by agents, and the tricks' chapters.

    `student` are the quantiles of one 95% interval, `joint` those of the intervals at all rates together (Bonferroni).
    """
    from scipy import stats

    def quantiles(tail: float) -> list[float]:
        return [0.0, *(float(stats.t.ppf(1 - tail, df)) for df in range(1, FREEDOMS + 1))]

    student = quantiles(0.025)
    tails = [0.0] * FEWEST
    for n in range(FEWEST, FREEDOMS):
        tails.append(float(stats.norm.cdf(-student[n - 1] * (n / (n - 1)) ** 0.5)))
    chapters = {name: chapter_of(name) for name in offered()}
    return {"student": student, "joint": quantiles(0.025 / RATES), "tails": tails, "chapters": chapters}
