"""Strips: what their colors say."""

from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from ablations.figures.strip import Panel, Seen, strip


def test_where_colors_only_say_up_or_down_what_is_about_zero_is_pale() -> None:
    cells = {("", "A"): Seen(0.3, "helps", True), ("", "B"): Seen(-0.0003, "≈ 0", True)}
    patches = strip([Panel("worlds", cells, None)]).axes[0].patches
    one, other = (to_rgb(patch.get_facecolor()) for patch in patches if isinstance(patch, Rectangle))
    assert min(one) < 0.5
    assert min(other) > 0.9
