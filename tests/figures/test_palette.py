"""Figures as files: their colors."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from ablations.figures import style
from ablations.figures.saving import save


def colors(path: Path) -> set[tuple[int, ...]]:
    """The colors in a picture."""
    with Image.open(path) as picture:
        found = picture.convert("RGB").getcolors(1 << 24)
    assert found is not None
    return {color for _, color in found if isinstance(color, tuple)}


@pytest.mark.parametrize("shades", [2, 600])
def test_a_small_patch_keeps_its_color_even_beside_a_color_bar(shades: int, tmp_path: Path) -> None:
    style.use()
    plt.rcParams["savefig.dpi"] = 150
    figure, axis = plt.subplots(figsize=(3, 2))
    axis.imshow(np.linspace(0, 1, shades)[None], cmap=plt.get_cmap("RdYlBu", 600), aspect="auto")
    figure.text(0.02, 0.02, "■", color="#A70019", size=4)
    path = save(figure, tmp_path / "bar")[0]
    assert (0xA7, 0x00, 0x19) in colors(path)


def test_every_shade_of_a_color_bar_has_one_near_it(tmp_path: Path) -> None:
    style.use()
    plt.rcParams["savefig.dpi"] = 150
    figure, axis = plt.subplots(figsize=(3, 2))
    bar = plt.get_cmap("RdYlBu", 600)
    axis.imshow(np.linspace(0, 1, 600)[None], cmap=bar, aspect="auto")
    found = np.array([*colors(save(figure, tmp_path / "bar")[0])])
    shades = 255 * bar(np.linspace(0, 1, 200))[:, None, :3]
    assert np.linalg.norm(shades - found, axis=2).min(1).max() < 8
