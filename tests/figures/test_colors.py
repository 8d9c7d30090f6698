"""A trick keeps its color, also in a file with few of them, and colors are distinct and legible."""

import itertools
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from ablations.design.designs import add_one_in, ladder, leave_one_out
from ablations.design.labels import Label, added, taken
from ablations.figures import style
from ablations.figures.saving import save
from ablations.findings.our_designs import beyond
from tricks.ladder import COLORS, LADDER, NEEDS


def test_a_trick_has_one_color_whatever_goes_along() -> None:
    for design in (ladder(LADDER), leave_one_out(LADDER), add_one_in(LADDER), beyond(LADDER)):
        for pair in design.comparisons:
            assert style.color(pair.label) == style.color(pair.trick)
    assert style.color(taken("clip", ["clip_anneal"])) == style.color(added(["reuse", "clip"])) == style.color("clip")
    assert style.color(Label("reuse")) == style.INK  # the name of an arm that is about no trick
    assert style.color("reinforce") == style.color("all") == style.color("anything else") == style.INK
    assert len({style.color(name) for name in NEEDS}) == len(NEEDS)


def seen(color: str, deuteranope: bool) -> np.ndarray:
    """In OKLab (Ottosson 2020), as seen with normal vision or without the middle cones (Machado et al. 2009)."""
    rgb = linear(color)
    if deuteranope:
        rgb = [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]] @ rgb
    cones = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]] @ np.clip(rgb, 0, 1)
    return [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]] @ np.cbrt(cones)


def linear(color: str) -> np.ndarray:
    """Red, green and blue light."""
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("deuteranope", [False, True])
def test_tricks_side_by_side_or_of_related_names_are_far_apart_in_color(deuteranope: bool) -> None:
    white, black = (seen(color, deuteranope) for color in ("white", "black"))
    assert np.linalg.norm(white - black) == pytest.approx(1, abs=0.001)
    for (i, one), (j, other) in itertools.combinations(enumerate(NEEDS), 2):
        if j == i + 1 or {*one.split("_")} & {*other.split("_")}:
            distance = np.linalg.norm(seen(style.color(one), deuteranope) - seen(style.color(other), deuteranope))
            assert distance > 0.2, (one, other)  # a fifth of that from white to black


def test_every_color_can_be_read_on_white() -> None:
    for color in COLORS.values():
        assert 1.05 / (0.05 + linear(color) @ (0.2126, 0.7152, 0.0722)) >= 3, color  # as WCAG defines contrast


@pytest.mark.parametrize("shades", [2, 600])
def test_a_file_keeps_the_color_of_a_small_patch_and_every_shade_of_a_color_bar(shades: int, tmp_path: Path) -> None:
    style.use()
    plt.rcParams["savefig.dpi"] = 150
    figure, axis = plt.subplots(figsize=(3, 2))
    bar = plt.get_cmap("RdYlBu", 600)
    axis.imshow(np.linspace(0, 1, shades)[None], cmap=bar, aspect="auto")
    figure.text(0.02, 0.02, "■", color="#A70019", size=4)
    with Image.open(save(figure, tmp_path / "bar")[0]) as picture:
        found = np.array([color for _, color in picture.convert("RGB").getcolors(1 << 24) or ()])
    assert (found == (0xA7, 0x00, 0x19)).all(1).any()
    wanted = 255 * bar(np.linspace(0, 1, 200 if shades == 600 else 2))[:, None, :3]
    assert np.linalg.norm(wanted - found, axis=2).min(1).max() < 8
