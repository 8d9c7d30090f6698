"""Designs that ask about different tricks in one environment share its figures."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from support.curves import heading
from support.one_effect import effect

from ablations.design.designs import DESIGNS
from ablations.figures.forest import forest_figure
from ablations.figures.heatmap import heatmap_figure


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
