"""The look of all figures. A trick has the same color everywhere."""

from typing import Any

import matplotlib.pyplot as plt

from ablations.design.labels import Label
from tricks import ladder

INK, SOFT, FAINT = "#222222", "#777777", "#d5d5d5"
WIDTH = 12  # of the widest figure, in inches: a README shows it at about two thirds of that
OTHERS = (SOFT, INK, "#0077BB", "#EE7733", "#009988", "#AA4499")  # for lines that are not about a trick
FAULT = "#CC3311"
NOTEBOOK = ("inline", "ipympl", "nbagg")  # in the names of the backends that show figures in a notebook
COLORS = ladder.COLORS | {"reinforce": INK, "all": INK, "ppo": INK}

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
