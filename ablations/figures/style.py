"""How figures look, in one place. A trick keeps its color everywhere."""

from typing import Any, NamedTuple

import matplotlib.pyplot as plt

from tricks import ladder

INK, SOFT, FAINT = "#222222", "#777777", "#d5d5d5"
WIDTH = 12  # inches, of the widest figure: a README shows it at about two thirds
OTHERS = (SOFT, INK, "#0077BB", "#EE7733", "#009988", "#AA4499")  # of lines that are about no trick
FAULT = "#CC3311"
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
    """Draw every figure from here on in this style."""
    plt.switch_backend("Agg")  # files only, so no screen is needed
    plt.rcParams.update(SETTINGS)


def signed(difference: float, places: int = 2) -> str:
    """`+0.12`; one decimal more, `-0.004`, where nothing would be left."""
    return f"{difference:+.{places + (round(difference, places) == 0)}f}"


class Parts(NamedTuple):
    """An arm's name taken apart: + or − (nothing for a bare name), the trick it is about, and the tricks around it."""

    sign: str
    trick: str
    others: tuple[str, ...]


def parts(arm: str) -> Parts:
    """`− clip, clip_anneal` takes clip away, and clip_anneal along; `+ baseline, gae` adds gae on top of baseline."""
    if arm.startswith("− "):
        trick, *others = arm[2:].split(", ")
        return Parts("−", trick, tuple(others))
    *others, trick = arm.removeprefix("+ ").split(", ")
    return Parts("+" if arm.startswith("+ ") else "", trick, tuple(others))


def heading(arm: str) -> str:
    """The arm's name without the tricks around it: `− clip`."""
    sign, trick, _ = parts(arm)
    return f"{sign} {trick}".strip()


def around(arm: str) -> str:
    """In words, what goes along with the arm's trick; nothing if nothing does: `and clip_anneal`, `on baseline`."""
    sign, _, others = parts(arm)
    return f"{'and' if sign == '−' else 'on'} {', '.join(others)}" if others else ""


def color(arm: str) -> str:
    """The color of a trick, or of an arm, which is that of the trick it is about."""
    return COLORS[parts(arm).trick]
