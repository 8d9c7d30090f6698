"""The look of all figures, and figures as files. A trick has the same color everywhere."""

import gzip
import io
from collections import ChainMap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from ablations.question.arms import Label
from tricks import ladder
from tricks.runs.files import write_whole

INK, SOFT, FAINT = "#222222", "#777777", "#d5d5d5"
WIDTH = 12  # of the widest figure, in inches: a README shows it at about two thirds of that
OTHERS = (SOFT, INK, "#0077BB", "#EE7733", "#009988", "#AA4499")  # for lines that are not about a trick
FAULT = "#CC3311"
NOTEBOOK = ("inline", "ipympl", "nbagg")  # in the names of the backends that show figures in a notebook
COLORS = ChainMap({"reinforce": INK, "all": INK, "ppo": INK}, ladder.COLORS)  # of a trick from a file, too

SETTINGS: Any = {
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "lines.linewidth": 2,
    "lines.solid_capstyle": "round",
    "hatch.linewidth": 0.5,
    "savefig.dpi": 150,
    "figure.facecolor": "white",
    "svg.hashsalt": "tricks",  # the same figure gives the same file
}


def use() -> None:
    """Use this style for every figure from here on. Outside notebooks, figures are for files only."""
    if not any(name in plt.get_backend() for name in NOTEBOOK):
        plt.switch_backend("Agg")  # needs no screen
    plt.rcParams.update(SETTINGS)


def signed(difference: float, places: int = 2) -> str:
    """`+0.12`, with one more decimal if it would round to 0: `-0.004`."""
    return f"{difference:+.{places + (round(difference, places) == 0)}f}"


def color(of: str | Label) -> str:
    """The color of a trick, or of the trick that an arm's label is about; black if it is not about one."""
    trick = of if isinstance(of, str) else of.trick if of.sign else ""
    return COLORS.get(trick, INK)


def save(figure: Figure, path: Path, behind: pd.DataFrame | None = None, kinds: Sequence[str] = ("png",)) -> list[Path]:
    """Write a figure (kinds: png, svg), and the numbers behind it as CSV. path: without suffix. Returns the paths."""
    paths = [path.with_name(f"{path.name}.{kind}") for kind in kinds]  # with_suffix would cut Reward0.01
    for text in figure.findobj(Text):  # a $ in a name is only a $, and what cannot be printed is left out
        text.set_parse_math(False)
        text.set_text("".join(c for c in text.get_text() if c.isprintable() or c == "\n"))
    for target, kind in zip(paths, kinds, strict=True):
        box, small = io.BytesIO(), io.BytesIO()
        figure.savefig(box, format=kind, metadata={"Date": None} if kind == "svg" else None)
        if kind == "png":  # in 256 colors that lie far apart, which makes its file a third of the size
            Image.open(box).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1).save(small, "png")
        write_whole(target, small.getvalue() or box.getvalue())
        figure.set_layout_engine("none")  # lay out only once: that takes longer than drawing
    plt.close(figure)
    return paths if behind is None else [*paths, save_table(behind, path.with_name(path.name + ".csv"))]


def save_table(table: pd.DataFrame, path: Path) -> Path:
    """Write a tidy table as CSV, compressed if the path says so. Returns the path."""
    text = table.to_csv(index=False, float_format="%.6g")
    write_whole(path, gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text)
    return path
