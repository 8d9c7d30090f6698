"""Small multiples: the numbers behind each figure, its lines and bands, and its note about what is missing."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.curves import DESIGNS, NAMES, heading, rising

from ablations.analysis.stats import interval
from ablations.analysis.studies import COLUMNS
from ablations.design.arms import Design
from ablations.design.crossed import factorial, screen
from ablations.design.designs import add_one_in, ladder
from ablations.design.flag_sets import flags
from ablations.figures import curves, style
from tricks.ladder import REINFORCE


def panel(figure: Figure, name: str) -> plt.Axes:
    (axis,) = (axis for axis in figure.axes if axis.get_title("left") == name)
    return axis


def said(figure: Figure) -> str:
    return " ".join(text.get_text() for axis in figure.axes for text in axis.texts)


def test_each_curve_has_its_mean_and_its_bootstrap_interval(tmp_path: Path, figures: list[Figure]) -> None:
    design = ladder(NAMES)
    data = rising(design)
    paths = curves.curves_figure(data, design, tmp_path / "curves_Reward0.01-v0")  # a dot is no suffix
    assert [path.name for path in paths] == [f"curves_Reward0.01-v0.{kind}" for kind in ("png", "svg", "csv")]
    assert all(path.stat().st_size > 1000 for path in paths)
    behind = pd.read_csv(paths[-1])
    assert list(dict.fromkeys(behind.arm)) == ["reinforce", "+ baseline", "+ reuse", "+ clip"]
    for arm in design.arms:
        grid, rows = data.grid(arm.tricks).to_numpy(), behind[behind.arm == arm.name]
        low, high = interval(grid)
        np.testing.assert_allclose(rows[["step", "return"]], np.c_[np.arange(10, 1001, 10), grid.mean(0)], rtol=1e-5)
        np.testing.assert_allclose(rows[["low", "high"]], np.c_[low, high], rtol=1e-5)
        _, band = panel(figures[0], arm.name).collections  # after the gray lines
        edge = np.asarray(band.get_paths()[0].vertices)[:, 1]
        assert edge.min() == low.min()
        assert edge.max() == high.max()
    assert "95% bootstrap" in said(figures[0])
    assert "INCOMPLETE" not in heading(figures[0])


@pytest.mark.parametrize("design", [*DESIGNS, add_one_in(("baseline", "value_clip"))], ids=lambda design: design.name)
def test_a_panel_shows_its_arm_bold_and_what_it_is_compared_to_dashed(
    design: Design, tmp_path: Path, figures: list[Figure]
) -> None:
    data = rising(design)
    curves.curves_figure(data, design, tmp_path / "x")
    assert len([axis for axis in figures[0].axes if axis.get_title("left")]) == 1 + len(design.comparisons)
    taken = design.name == "leave-one-out"
    for pair in design.comparisons:
        axis = panel(figures[0], f"{'−' if taken else '+'} {pair.trick}")
        bold, dashed = axis.lines[-1], axis.lines[-2]
        mine, other = (pair.without, pair.having) if taken else (pair.having, pair.without)
        np.testing.assert_array_equal(bold.get_ydata(), data.grid(mine).mean())
        np.testing.assert_array_equal(dashed.get_ydata(), data.grid(other).mean())
        assert (bold.is_dashed(), dashed.is_dashed()) == (False, True)
        assert bold.get_color() == style.COLORS[pair.trick]


def test_the_first_arm_is_named_for_what_the_chosen_tricks_need(tmp_path: Path, figures: list[Figure]) -> None:
    design = ladder(("baseline", "clip"))
    curves.curves_figure(rising(design), design, tmp_path / "x")
    assert heading(figures[0]).startswith("From reuse up, one trick at a time: CartPole-v1")
    first = panel(figures[0], "reuse")
    assert [text.get_text() for text in first.texts] == ["what the chosen tricks need"]
    assert first.lines[-1].get_color() == style.INK


def test_too_few_seeds_have_no_band_and_a_silent_seed_is_named(tmp_path: Path, figures: list[Figure]) -> None:
    design = ladder(("baseline",))
    few, silent = rising(design, seeds=4), rising(design)
    silent.runs.loc[silent.runs.tricks == "", COLUMNS[9:]] = silent.runs.loc[[2], COLUMNS[9:]].to_numpy()
    silent.runs.loc[3, COLUMNS[9:]] = np.nan
    for data in (few, silent):
        curves.curves_figure(data, design, tmp_path / "x")
    curves.solved_figure(few, design, tmp_path / "few")
    assert pd.read_csv(tmp_path / "few.csv")[["low", "high"]].isna().all(axis=None)
    assert "no band: fewer than 5 seeds" in said(figures[0])
    assert "no episode ended in 1 seeds: mean of the others" in " ".join(said(figures[1]).split())
    behind = pd.read_csv(tmp_path / "x.csv").set_index("arm")
    np.testing.assert_allclose(behind.loc["reinforce"]["return"], silent.grid(REINFORCE).loc[2], rtol=1e-5)
    assert behind.loc["reinforce"].low.isna().all()
    assert behind.loc["+ baseline"].low.notna().all()


def test_where_the_panels_fill_their_rows_the_key_is_a_strip_above_them(tmp_path: Path, figures: list[Figure]) -> None:
    for count in (4, 5):  # with the first arm, five and six panels in six columns
        design = ladder([*NAMES, "gae", "entropy"][:count])
        curves.curves_figure(rising(design), design, tmp_path / "x")
    keys = [axis for figure in figures for axis in figure.axes if any("bootstrap" in t.get_text() for t in axis.texts)]
    below, strip = keys
    tops = [max(axis.get_position().y1 for axis in figure.axes if axis.get_title("left")) for figure in figures]
    assert below.get_position().y1 == pytest.approx(tops[0])
    assert strip.get_position().y0 > tops[1]
    assert figures[1].get_figheight() < figures[0].get_figheight() + 0.5


def test_crossed_designs_have_no_small_multiples(tmp_path: Path) -> None:
    for design in (factorial(("baseline", "reuse")), screen(("baseline", "reuse"))):
        for draw in (curves.curves_figure, curves.solved_figure, curves.robustness_figure):
            assert draw(rising(design), design, tmp_path / "x") == []
    assert list(tmp_path.iterdir()) == []


def test_solved_is_the_share_of_seeds_that_have_reached_the_threshold(tmp_path: Path, figures: list[Figure]) -> None:
    design = ladder(("baseline",))
    data = rising(design, seeds=10)
    steps = np.arange(10, 1001, 10)
    for seed, row in enumerate(data.runs.index[:10]):  # seeds 0 to 2 never; 3 to 9 at 40, 50, ..., 100%, then fall back
        at = 100 * (seed + 1) if seed >= 3 else 0
        data.runs.loc[row, COLUMNS[9:]] = np.where((at - 100 < steps) & (steps <= at), 475.0, 474.0)
    behind = pd.read_csv(curves.solved_figure(data, design, tmp_path / "x")[-1])
    mine = behind[behind.arm == "reinforce"].set_index("step")
    assert mine.solved[[10, 390, 400, 490, 500, 1000]].tolist() == [0, 0, 0.1, 0.1, 0.2, 0.7]
    squared = 1.959964**2  # Wilson's interval of none of 10 reaches to z² / (10 + z²)
    assert [mine.low[10], mine.high[10]] == pytest.approx([0, squared / (10 + squared)], abs=1e-5)
    assert "mean return over a tenth of the budget ≥ 475" in heading(figures[0])
    assert "INCOMPLETE" not in heading(figures[0])
    assert curves.solved_figure(rising(design, env="Unknown-v0"), design, tmp_path / "y") == []


def tuned(design: Design, without: str) -> pd.DataFrame:
    """Scores at four rates, and for one arm at a fifth that is best, at two budgets; one lacks the arm `without`."""
    rows = [
        ("CartPole-v1", steps, "", flags(arm.tricks), lr, area, area, 5)
        for steps in (1000, 2000)
        for arm in design.arms
        if steps == 2000 or arm.name != without
        for lr, area in ((0.001, 100.0), (0.003, 300.0), (0.01, 200.0), (0.03, 80.0), (0.1, 450.0))
        if lr < 0.1 or arm.name == "+ clip"
    ]
    return pd.DataFrame(rows, columns=["env", "steps", "numbers", "tricks", "lr", "area", "late", "seeds"])


def test_robustness_shows_every_tuned_rate_the_best_and_the_mean_over_those_that_all_arms_have(
    tmp_path: Path, figures: list[Figure], monkeypatch: pytest.MonkeyPatch
) -> None:
    design = ladder(NAMES)
    data = rising(design)
    monkeypatch.setattr(curves, "table", lambda: tuned(design, "+ reuse"))
    paths = curves.robustness_figure(data, design, tmp_path / "x")
    assert all(path.exists() for path in paths)
    behind = pd.read_csv(paths[-1])
    assert list(dict.fromkeys(behind.arm)) == ["reinforce", "+ baseline", "+ clip"]
    mine = behind[behind.arm == "+ clip"].set_index("lr").score
    assert mine.index.tolist() == [0.001, 0.003, 0.01, 0.03, 0.1]
    assert mine[0.003] == pytest.approx((300 - 22.3) / (500 - 22.3), abs=1e-5)
    assert "INCOMPLETE: never tuned: + reuse" in heading(figures[0])
    axis = panel(figures[0], "+ clip")
    assert axis.get_xscale() == "log"
    assert [label.get_text() for label in axis.get_xticklabels()] == ["0.001", "0.003", "0.01", "0.03", "0.1"]
    best, mean = (450 - 22.3) / 477.7, (170 - 22.3) / 477.7
    assert f"best {best:.2f} at 0.1, mean {mean:.2f}" in " ".join(text.get_text() for text in axis.texts)
    monkeypatch.setattr(curves, "table", lambda: tuned(design, "").query("steps == 2000"))
    assert curves.robustness_figure(data, design, tmp_path / "y") == []
