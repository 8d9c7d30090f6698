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


def test_every_panel_has_its_cells_in_the_row_of_their_own_question() -> None:
    usual = {("alone", "A"): Seen(0.1, "helps", True), ("taken out", "A"): Seen(0.1, "helps", True)}
    robots = {("in the preset", "B"): Seen(0.2, "helps", True), ("alone", "C"): Seen(0.3, "helps", True)}
    first, second = strip([Panel("usual", usual, 1.0), Panel("robots", robots, 1.0)]).axes
    rows = [label.get_text() for label in first.get_yticklabels()]
    assert rows == ["alone", "taken out", "in the preset"]
    assert first.get_ylim() == second.get_ylim()
    drawn = {text.get_text(): text.get_position()[1] for text in second.texts}
    assert round(drawn["+0.20"]) == rows.index("in the preset")
    assert round(drawn["+0.30"]) == rows.index("alone")
