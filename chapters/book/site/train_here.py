"""The small playgrounds in the chapters: for each trick the world and the two arms that show it, and what one sees."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from json import dumps
from typing import Any
from urllib.parse import urlencode

import nbformat
from nbformat import NotebookNode

from ablations.analysis.stats import FEWEST
from tricks.ladder import COLORS

PLAIN = ("baseline", "reuse", "clip", "gae")
NORMED = (*PLAIN, "advantage_norm")
FREEDOMS = 60  # degrees of freedom up to which the page has Student's quantile
START = "a=baseline,reuse,clip&b=baseline,reuse&lr=0.01&epochs=8&steps=40000"  # the first thing one sees
ABOUT = """Ten agents learn in your browser, each from its own seed. Switch tricks on and off, or compare two settings on
the same seeds. The address holds the setting, so a link shows others what you saw."""
SCRIPTS = ("playground-data.js", "lines.js", "playground-engine.js", "playground-page.js")


@dataclass(frozen=True)
class TrainHere:
    """Ten agents without a trick against ten with it, on the same seeds."""

    says: str
    """What one sees in most starts: at least eight of ten, see the slow test."""
    without: tuple[str, ...]
    adds: tuple[str, ...] = ()
    """The tricks of the second arm on top; none for one arm alone."""
    world: str = "CartPole-v1"
    numbers: dict[str, float | bool] = field(default_factory=dict)
    verdict: str = "B"
    """Which arm is better in most starts: A, B, or neither."""
    hidden: tuple[int, ...] = (16, 16)

    @property
    def setting(self) -> str:
        """The address of this setting in the playground."""
        asked = {"world": self.world, "a": ",".join(self.without)}
        if self.adds:
            asked["b"] = ",".join([*self.without, *self.adds])
        numbers = {name: str(x).lower() if isinstance(x, bool) else f"{x:g}" for name, x in self.numbers.items()}
        return urlencode(asked | numbers | {"hidden": ",".join(map(str, self.hidden))}, safe=",/")

    @property
    def names(self) -> tuple[str, ...]:
        """What stands beside the arms' colors."""
        return (f"without {self.adds[0]}", f"with {self.adds[0]}") if self.adds else ("ten agents",)


HERE: dict[str, TrainHere] = {}  # TABLE


def place(trick: str) -> str:
    """The small playground of a trick, for a page in the folder of the chapters."""
    here = HERE[trick]
    values = {"setting": here.setting, "names": dumps(here.names), "large": "../playground.html"}
    data = " ".join(f'data-{name}="{escape(value)}"' for name, value in values.items())
    color = COLORS.get(trick, "#0079A8")
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


def add(notebook: NotebookNode, trick: str) -> None:
    """Put the small playground of this trick, if it has one, before the exercises."""
    if trick not in HERE:
        return
    cells = notebook.cells
    where = next(k for k, cell in enumerate(cells) if cell.source.startswith("## Exercises"))
    cells.insert(where, nbformat.v4.new_markdown_cell(place(trick)))


def played() -> dict[str, Sequence[Any]]:
    """Numbers for the page's statistics: Student's quantiles by degrees of freedom, and the bootstrap's tails by agents."""
    from scipy import stats

    student = [0.0, *(float(stats.t.ppf(0.975, df)) for df in range(1, FREEDOMS + 1))]
    tails = [0.0] * FEWEST
    for n in range(FEWEST, FREEDOMS):
        tails.append(float(stats.norm.cdf(-student[n - 1] * (n / (n - 1)) ** 0.5)))
    return {"student": student, "tails": tails}
