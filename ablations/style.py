"""How figures look, in one place. A trick keeps its color everywhere."""

from dataclasses import fields
from typing import Any

import matplotlib.pyplot as plt

from tricks.ladder import Tricks

INK, SOFT, FAINT = "#222222", "#777777", "#d5d5d5"
# No 17 colors are all distinct to a color-blind reader: neighbors contrast, and every line is labeled by name
PALETTE = (
    *("#332288", "#CC6677", "#117733", "#AA4499", "#0077BB", "#999933", "#882255", "#44AA99", "#EE7733"),
    *("#6699CC", "#661100", "#DDAA33", "#004488", "#EE3377", "#228833", "#775599", "#BB5566", "#009988"),
)
COLORS = {f.name: PALETTE[i] for i, f in enumerate(fields(Tricks))} | {"reinforce": INK}

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
    "savefig.dpi": 150,
    "figure.facecolor": "white",
    "svg.hashsalt": "tricks",  # the same figure gives the same file
}


def use() -> None:
    """Draw every figure from here on in this style."""
    plt.switch_backend("Agg")  # files only, so no screen is needed
    plt.rcParams.update(SETTINGS)


def color(arm: str) -> str:
    """The color of an arm, which is that of the trick it is named after."""
    return COLORS[arm.removeprefix("+ ")]
