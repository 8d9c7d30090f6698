"""Keep figures open so that tests can look at them."""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from ablations.figures import style


@pytest.fixture(autouse=True)
def figures(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Figure]]:
    """The figures that were saved, at a low resolution and still open."""
    kept: list[Figure] = []
    monkeypatch.setattr(plt, "close", kept.append)
    monkeypatch.setitem(style.SETTINGS, "savefig.dpi", 30)
    yield kept
    monkeypatch.undo()
    plt.close("all")
