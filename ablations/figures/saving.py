"""Figures as files: PNG, SVG, and the numbers behind them."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from tricks.runs.files import write_whole

FORMATS: ContextVar[tuple[str, ...]] = ContextVar("formats", default=("png", "svg"))


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
    """The figure with at most 256 colors, which makes the file a third of its size."""
    from PIL import Image

    figure.set_dpi(plt.rcParams["savefig.dpi"])
    canvas, box = FigureCanvasAgg(figure), io.BytesIO()
    canvas.draw()  # type: ignore[no-untyped-call]
    size = canvas.get_width_height()
    drawn = Image.frombuffer("RGBA", size, canvas.buffer_rgba()).convert("RGB")  # type: ignore[no-untyped-call]
    drawn.quantize(256, dither=Image.Dither.NONE).save(box, "png")
    return box.getvalue()


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
