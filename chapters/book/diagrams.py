"""Drawings of nets: which part reads what, and which loss trains it."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from ablations import style

POLICY, VALUE, KEEP = style.COLORS["clip"], style.COLORS["return_norm"], style.COLORS["ppg"]
LEVELS = {"obs": 0.0, "body": 1.7, "head": 3.4, "loss": 4.7}  # the middle of each row
HEIGHT = 0.8  # of a box
TOP, BOTTOM = ({row: y + sign * HEIGHT / 2 for row, y in LEVELS.items()} for sign in (1, -1))
Pulls = Sequence[tuple[str, str, str]]  # of one head: name, the loss that trains it ("" if none does), its color


def two_nets_or_one_trunk() -> Figure:
    """Separate nets beside a shared trunk: forward in gray, each loss's gradient in its own color."""
    figure, axes = _panels(("two nets", "one trunk, two heads"), widths=(1.2, 1))
    policy, value = ("policy head", "policy loss", POLICY), ("value head", "value loss", VALUE)
    _net(axes[0], 2.0, "body", [policy])
    _net(axes[0], 6.0, "body", [value])
    _net(axes[1], 3.3, "body (trunk)", [policy, value])
    for axis, width in zip(axes, (8.2, 6.8), strict=True):
        axis.set_xlim(-0.2, width)
    return figure


def ppg_phases() -> Figure:
    """PPG's two nets in its two phases: which loss trains which part, in color."""
    figure, axes = _panels(("policy phase (PPO)", "auxiliary phase"), widths=(1, 1))
    played = [("policy head", "clipped loss", POLICY), ("auxiliary\nvalue head", "", style.SOFT)]
    held = [("policy head", "β_clone · KL", KEEP), ("auxiliary\nvalue head", "½(V_aux − G)²", VALUE)]
    for axis, heads in zip(axes, (played, held), strict=True):
        _net(axis, 2.6, "body of the policy net", heads)
        _net(axis, 7.7, "body", [("value head", "½(V − G)²", VALUE)])
        axis.set_xlim(-0.2, 9.6)
    return figure


def _panels(titles: Sequence[str], widths: Sequence[float]) -> tuple[Figure, list[Axes]]:
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.1), gridspec_kw={"width_ratios": widths})
    for axis, title in zip(axes, titles, strict=True):
        axis.set(title=title, ylim=(-0.5, 5.2))
        axis.axis("off")
    return figure, list(axes)


def _net(axis: Axes, x: float, body: str, heads: Pulls) -> None:
    """One body with its heads, centered at x. A gradient runs from its loss through the head into the body."""
    wide = 2.4 * len(heads)
    _box(axis, x, "obs", "observation", wide, style.SOFT)
    _box(axis, x, "body", body, wide, style.INK)
    _arrow(axis, x, TOP["obs"], BOTTOM["body"], style.SOFT)
    for k, (name, loss, color) in enumerate(heads):
        middle = x + 2.5 * (k - (len(heads) - 1) / 2)
        _box(axis, middle, "head", name, 2.1, style.INK if loss else style.SOFT, dashed=not loss)
        _arrow(axis, middle - 0.25, TOP["body"], BOTTOM["head"], style.SOFT)
        if not loss:
            axis.text(middle, TOP["head"] + 0.15, "not trained", ha="center", va="bottom", color=style.SOFT, size=8)
        else:
            axis.text(middle, LEVELS["loss"] + 0.1, loss, ha="center", va="bottom", color=color, weight="bold", size=8)
            _arrow(axis, middle + 0.25, LEVELS["loss"], TOP["head"], color, 2.2)
            _arrow(axis, middle + 0.25, BOTTOM["head"], TOP["body"], color, 2.2)


def _box(axis: Axes, x: float, row: str, text: str, width: float, color: str, dashed: bool = False) -> None:
    corner = (x - width / 2 + 0.1, LEVELS[row] - HEIGHT / 2 + 0.1)
    patch = FancyBboxPatch(corner, width - 0.2, HEIGHT - 0.2, boxstyle="round,pad=0.1", fc="white", ec=color)
    patch.set_linestyle("--" if dashed else "-")
    axis.add_patch(patch)
    axis.text(x, LEVELS[row], text, ha="center", va="center", size=8, color=color)


def _arrow(axis: Axes, x: float, start: float, end: float, color: str, width: float = 1.0) -> None:
    look = {"arrowstyle": "-|>", "color": color, "lw": width, "shrinkA": 1, "shrinkB": 1}
    axis.annotate("", (x, end), (x, start), arrowprops=look)
