"""Speed against the number of agents: environment steps per second, and what a larger stack costs."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from ablations.figures import style
from ablations.figures.panels import DASHED, title
from ablations.figures.saving import save

NAMES = {"tricks": "this package", "plain": "Plain PyTorch", "sb3": "stable-baselines3", "purejaxrl": "PureJaxRL"}


def speed_figure(table: pd.DataFrame, about: str, path: Path) -> list[Path]:
    """Draw and save the figure. table: as `speed` stores it; path: without suffix."""
    style.use()
    figure, (speed, cost) = plt.subplots(1, 2, figsize=(style.WIDTH * 0.75, 3.4), layout="constrained")
    kinds = list(table.groupby(["who", "backend", "device"], sort=False, dropna=False))
    several = sum(kind[0] == "tricks" for kind, _ in kinds) > 1
    for color, (kind, rows) in zip(style.OTHERS[1:] * len(kinds), kinds, strict=False):
        draw_kind(
            called(str(kind[0]), str(kind[1]), str(kind[2]), several), rows.sort_values("seeds"), color, speed, cost
        )
    if not cost.lines:
        cost.remove()
    else:
        most = table.seeds.max()
        cost.plot([1, most], [1, most], color=style.SOFT, lw=1.4, ls=DASHED)
        about_line = {"color": style.SOFT, "ha": "right", "va": "center"}
        cost.annotate("one after the other", (most, most), (-6, 0), textcoords="offset points", **about_line)
    for axis, label in (
        (speed, "environment steps per second, all agents"),
        (cost, "time, relative to its own single agent"),
    ):
        axis.set(xscale="log", yscale="log", xlabel="agents trained at once", ylabel=label)
        for scale in (axis.xaxis, axis.yaxis):
            scale.set_major_locator(LogLocator(subs=(1, 2, 5) if scale is speed.yaxis else (1, 3)))
            scale.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
            scale.set_minor_locator(NullLocator())
        axis.grid(color=style.FAINT, lw=0.6)
        axis.set_xlim(0.7, 1.6 * table.seeds.max())
        axis.margins(y=0.1)
    title(figure, about)
    return save(figure, path)


def called(who: str, backend: str, device: str, several: bool) -> str:
    """What a line is called: the program, and for ours how it runs, if that is not the only or the usual way."""
    usual = ("cpu",) if several else ("auto", "tensor", "cpu")
    unusual = [word for word in (backend, device) if who == "tricks" and word not in usual]
    return NAMES.get(who, who) + (f" ({', '.join(unusual)})" if unusual else "")


def draw_kind(name: str, rows: pd.DataFrame, color: str, speed: Axes, cost: Axes) -> None:
    """One program's line, and its cost if one agent is among its measurements; a single measurement is a level."""
    last = rows.iloc[-1]
    if len(rows) == 1:
        speed.axhline(last.steps_per_second, color=color, lw=1.4, ls=DASHED)
        place = (0.01, last.steps_per_second)
        agents = "one agent" if last.seeds == 1 else f"{last.seeds} agents"
        speed.annotate(f"{name}, {agents}", place, (0, 4), speed.get_yaxis_transform(), "offset points", color=color)
        return
    speed.plot(rows.seeds, rows.steps_per_second, color=color, marker="o", ms=4)
    peer = last.who not in ("tricks", "plain")  # its line is shorter than ours, so its name stands where it begins
    where, offset, side = (rows.iloc[0], (0, 8), "left") if peer else (last, (-4, 6), "right")
    if last.who == "plain":
        offset = (-4, -14)
    beside: dict[str, Any] = {"textcoords": "offset points", "color": color, "ha": side}
    speed.annotate(name, (where.seeds, where.steps_per_second), offset, **beside)
    if rows.seeds.min() == 1:
        alone = rows.steps_per_second.iloc[0]
        cost.plot(rows.seeds, rows.seeds * alone / rows.steps_per_second, color=color, marker="o", ms=4)
