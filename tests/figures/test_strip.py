"""What several questions share: strips, and figures of designs that ask about different tricks in one environment."""

from pathlib import Path

import pandas as pd
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from support.curves import heading
from support.one_effect import effect

from ablations.design.designs import DESIGNS
from ablations.figures.forest import forest_figure
from ablations.figures.heatmap import heatmap_figure
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


def test_designs_on_different_tricks_share_figures_and_neither_lacks_the_others(
    tmp_path: Path, figures: list[Figure]
) -> None:
    own = [effect("beyond", "CartPole-v1", name, 0.1, 0.5) for name in ("shared_trunk", "ppg")]
    others = [effect("scales", "CartPole-v1", name, 0.2, 0.001) for name in ("reward_sign", "return_norm")]
    found, designs = pd.DataFrame([*own, *others]), [DESIGNS[name]([]) for name in ("beyond", "scales")]
    for draw in (forest_figure, heatmap_figure):
        draw(found, designs, tmp_path / "x")
        rows = [label.get_text() for label in figures[-1].axes[0].get_yticklabels()]
        assert rows == ["return_norm", "shared_trunk", "ppg", "reward_sign"]  # what is no trick comes last
        assert "INCOMPLETE" not in heading(figures[-1])
    forest_figure(found.assign(trick=["clip", "gae", "clip", "gae"], seeds=[9, 9, 9, 8]), designs, tmp_path / "x")
    assert heading(figures[-1]).endswith("lacks runs of scales on CartPole-v1: gae")
