"""Figures as files: PNG, SVG, and the numbers behind them."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from tricks.runs.files import write_whole

FORMATS: ContextVar[tuple[str, ...]] = ContextVar("formats", default=("png", "svg"))
FILL = 20  # pixels of one color


def save(figure: Figure, path: Path, behind: pd.DataFrame | None = None) -> list[Path]:
    """Write a figure as PNG and SVG, and the numbers behind it as CSV. path: without suffix. Returns the paths.

    In a `with only_png():` block, there is no SVG.
    """
    kinds = FORMATS.get()
    paths = [path.with_name(f"{path.name}.{kind}") for kind in kinds]  # with_suffix would cut Reward0.01
    for text in figure.findobj(Text):  # a $ in a name is only a $, and what cannot be printed is left out
        text.set_parse_math(False)
        if not (said := text.get_text()).replace("\n", "").isprintable():
            text.set_text("".join(c for c in said if c.isprintable() or c == "\n"))
    for target, kind in zip(paths, kinds, strict=True):
        write_whole(target, {"png": _png, "svg": _svg}[kind](figure))
        figure.set_layout_engine("none")  # lay out only once: that takes longer than drawing
    plt.close(figure)
    if behind is not None:
        paths.append(path.with_name(path.name + ".csv"))
        write_whole(paths[-1], behind.to_csv(index=False, float_format="%.6g"))
    return paths


def _png(figure: Figure) -> bytes:
    """The figure with 256 of its colors, which makes the file a third of its size: every pixel gets the nearest one."""
    from PIL import Image
    from scipy.spatial import KDTree

    figure.set_dpi(plt.rcParams["savefig.dpi"])
    canvas, box = FigureCanvasAgg(figure), io.BytesIO()
    canvas.draw()  # type: ignore[no-untyped-call]
    drawn = np.asarray(canvas.buffer_rgba())[..., :3].astype(np.uint32)  # type: ignore[no-untyped-call]
    index, colors = pd.factorize((drawn @ np.array([65536, 256, 1], np.uint32)).ravel())
    every = np.stack([colors >> 16, colors >> 8 & 255, colors & 255], 1)
    kept = every[_palette(every.astype(float), np.bincount(index))]
    nearest = KDTree(kept).query(every)[1].astype(np.uint8)
    image = Image.fromarray(nearest[index].reshape(drawn.shape[:2]), "P")
    image.putpalette(kept.astype(np.uint8).tobytes())
    image.save(box, "png")
    return box.getvalue()


def _palette(colors: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """Which colors to keep: the 192 most frequent ones, and of the others 64 that are unlike all that are kept.

    Without the latter, a color bar with its hundreds of shades would push out the color of a name. Blends at the edges
    of letters, with fewer than FILL pixels, don't count. colors: [n, 3]; pixels: [n].
    """
    from scipy.spatial import KDTree

    kept = np.argsort(-pixels, kind="stable")[:192]
    nearest = colors[kept[KDTree(colors[kept]).query(colors)[1]]]
    away = ((colors - nearest) ** 2).sum(1) * (pixels >= FILL)
    while len(kept) < 256 and away.max() > 0:
        farthest = away.argmax()
        kept = np.append(kept, farthest)
        away = np.minimum(away, ((colors - colors[farthest]) ** 2).sum(1))
    return kept


def _svg(figure: Figure) -> bytes:
    box = io.BytesIO()
    figure.savefig(box, format="svg", metadata={"Date": None})
    return box.getvalue()


@contextmanager
def only_png() -> Iterator[None]:
    """Figures that are saved in this block are not written as SVG, which takes as long as PNG."""
    before = FORMATS.set(("png",))
    try:
        yield
    finally:
        FORMATS.reset(before)
