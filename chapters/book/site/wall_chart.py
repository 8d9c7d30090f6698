"""The wall chart, one page as PDF: PPO's numbers, what the diagnostics should show, and what to look for if not."""

import io
import re
from pathlib import Path
from textwrap import wrap
from typing import Any

import jupytext
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from ablations import style
from chapters.book.build import CHAPTERS
from chapters.book.site.playground import SHARED_NUMBERS
from tricks import PPO, Config
from tricks.cli.shell import sentences
from tricks.ladder import HYPERPARAMETERS

A4 = (11.69, 8.27)  # inches, landscape
SHOWN = (*(name for name in SHARED_NUMBERS if name != "steps"), "hidden")
TEX = {r"\text{old}": "old", r"\varepsilon": "ε", r"\log": "log", r"\pi": "π", "_": ""}
UPDATE = (
    (r"$\delta = r + \gamma\, V(s') - V(s)$", "without $V(s')$ if $s$ was the last state of its episode"),
    (r"$A = \delta + \gamma\lambda\, A'$", "without $A'$ if the next row belongs to another episode"),
    (r"$\rho = \pi(a|s)\, /\, \pi_{\mathrm{old}}(a|s)$", "1 on the first minibatch"),
    (r"$L = -\min(\rho A,\ \mathrm{clip}(\rho, 1 \pm \epsilon)\, A)$", "A standardized per minibatch"),
    (
        r"$\quad + c_1\, \frac{1}{2}(V - A - V_{\mathrm{old}})^2 - c_2\, H(\pi)$",
        "mean over the minibatch; then one step of Adam",
    ),
)
Row = tuple[str, ...]


def wall_chart(path: Path) -> None:
    """Write the chart."""
    style.use()
    figure = plt.figure(figsize=A4)
    figure.text(0.04, 0.95, "PPO on one page", size=20, weight="bold", va="top")
    said = "numbers from this package's defaults, ranges and symptoms from the chapter on diagnostics"
    figure.text(0.04, 0.905, said, size=9, color=style.SOFT, va="top")
    ranges, symptoms = tables_of_diagnostics()
    _table(
        figure.add_axes((0.04, 0.04, 0.29, 0.83)),
        "Its numbers",
        [("number", "default", "what it is"), *numbers()],
        (0, 0.36, 0.52),
    )
    _table(figure.add_axes((0.36, 0.44, 0.28, 0.43)), "In a sound run", [(row[0], row[2]) for row in ranges], (0, 0.42))
    _table(figure.add_axes((0.67, 0.04, 0.30, 0.83)), "If it doesn't learn", symptoms, (0, 0.42))
    figure.text(0.36, 0.41, "Its update", size=13, weight="bold", va="top")
    for k, (formula, said) in enumerate(UPDATE):
        figure.text(0.36, 0.35 - 0.068 * k, formula, size=12)
        figure.text(0.36, 0.325 - 0.068 * k, said, size=8, color=style.SOFT)
    box = io.BytesIO()
    figure.savefig(box, format="pdf", metadata={"CreationDate": None})
    plt.close(figure)
    path.write_bytes(box.getvalue())


def numbers() -> list[Row]:
    """PPO's numbers: the name, the default, and what it is."""
    used = [*SHOWN, *(name for trick in PPO.on for name in HYPERPARAMETERS[trick])]
    told = described()
    given = {name: getattr(Config, name) for name in used}
    return [(name, f"{x}", told[name]) for name, x in given.items() if not isinstance(x, bool)]


def described() -> dict[str, str]:
    """What each field of Config is: the first sentence of the text below it, without the trick's name."""
    firsts = {name: re.split(r"(?<=[.;])\s|;", text)[0] for name, text in sentences(Config).items()}
    return {name: re.sub(r"\s*\([\w, ]+\)\.?$|\.$", "", first) for name, first in firsts.items()}


def tables_of_diagnostics() -> tuple[list[Row], list[Row]]:
    """The tables of chapter 27: what sound diagnostics look like, and what to look for behind each symptom."""
    cells = jupytext.read(CHAPTERS / "27_reading_the_diagnostics.py").cells
    found = [rows for cell in cells if cell.cell_type == "markdown" and (rows := _rows(cell.source))]
    sound = next(rows for rows in found if len(rows[0]) == 3)
    symptoms = next(rows for rows in found if rows[0][0] == "symptom")
    return sound, symptoms


def _rows(text: str) -> list[Row]:
    """The first Markdown table in a text, as plain words; empty if there is none."""
    lines = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("|") and "---" not in line]
    return [tuple(in_plain_text(cell) for cell in line) for line in lines]


def in_plain_text(cell: str) -> str:
    """A cell without marks: `$1-\\varepsilon$` becomes 1-ε."""
    for tex, said in TEX.items():
        cell = re.sub(r"\$[^$]*\$", lambda found, tex=tex, said=said: found[0].replace(tex, said), cell)  # type: ignore[misc]
    return " ".join(cell.replace("$", "").replace("`", "").split())


def _table(axis: Axes, title: str, rows: list[Row], starts: tuple[float, ...]) -> None:
    """Draw a table from the top down; starts: where each column begins, as a share of the width."""
    axis.set_axis_off()
    width = axis.get_position().width * A4[0]
    unit = 0.145 / (axis.get_position().height * A4[1])  # of a line
    axis.text(0, 1, title, size=13, weight="bold", va="top")
    y = 1 - 2.4 * unit
    ends = [*starts[1:], 1.0]
    for k, row in enumerate(rows):
        texts = [
            wrap(cell, max(6, int((end - start) * width * 13.5))) or [""]
            for cell, start, end in zip(row, starts, ends, strict=True)
        ]
        for column, (lines, start) in enumerate(zip(texts, starts, strict=True)):
            look: dict[str, Any] = {"weight": "bold"} if k == 0 else {"family": "monospace"} if column == 0 else {}
            axis.text(start, y, "\n".join(lines), size=8, va="top", linespacing=1.25, **look)
        y -= unit * (max(map(len, texts)) + 0.55)
        axis.plot([0, 1], [y + 0.3 * unit] * 2, color=style.FAINT, lw=0.6, clip_on=False)
    axis.set(xlim=(0, 1), ylim=(0, 1))
