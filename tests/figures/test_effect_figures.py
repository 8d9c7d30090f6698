"""Forest, heat map, interactions: marks, colors and hatching show what is detected; titles show what is missing."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from support.curves import DESIGNS, NAMES, heading, lacking, rising
from support.one_effect import effect

from ablations.analysis.effects import effects
from ablations.design.designs import add_one_in, ladder, leave_one_out
from ablations.design.labels import added, taken
from ablations.figures import curves, style
from ablations.figures.cells import UNKNOWN, number
from ablations.figures.effect_rows import about_rates
from ablations.figures.forest import forest_figure
from ablations.figures.heatmap import heatmap_figure
from ablations.figures.interactions import interactions_figure
from tricks.ladder import PPO


def test_an_incomplete_design_is_named_in_the_title(tmp_path: Path, figures: list[Figure]) -> None:
    design, other = ladder(NAMES[:2]), add_one_in(NAMES[:2])
    whole = rising(design, other)
    last = design.arms[-1].tricks
    for data in (lacking(whole, last, 4), lacking(whole, last, 0)):  # a seed is missing, all are
        curves.curves_figure(data, design, tmp_path / "curves")
        curves.solved_figure(data, design, tmp_path / "solved")
        found = pd.concat([effects(data, one) for one in (design, other)])
        forest_figure(found, (design, other), tmp_path / "forest")
        heatmap_figure(found, (design, other), tmp_path / "heatmap")
    titles, lacks = [heading(figure) for figure in figures], "INCOMPLETE: lacks runs of"
    for k in (0, 4):
        assert all(f"{lacks} + reuse" in title for title in titles[k : k + 2])
        assert all(f"{lacks} ladder on CartPole-v1: reuse" in title for title in titles[k + 2 : k + 4])
    forest_figure(found, (design, other), tmp_path / "forest", ["+ gae"])
    assert heading(figures[-1]).endswith("INCOMPLETE: lacks runs of + gae")


def test_a_forest_has_a_mark_a_comparison_filled_where_detected(tmp_path: Path, figures: list[Figure]) -> None:
    rows = [
        effect("leave-one-out", "CartPole-v1", "clip", 0.3, 0.001, taken("clip", ["clip_anneal"])),
        effect("leave-one-out", "CartPole-v1", "baseline", -0.2, 0.5, taken("baseline", [])),
        effect("add-one-in", "CartPole-v1", "clip", -0.4, 0.02, added(["reuse", "clip"])),
        effect("add-one-in", "CartPole-v1", "baseline", 0.25, 0.002),
    ]
    paths = forest_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "x")
    assert pd.read_csv(paths[-1]).difference.tolist() == [0.3, -0.2, -0.4, 0.25]
    axis = figures[0].axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["baseline", "clip"]  # in ladder order
    marks = {corner(line)[0]: line for line in axis.lines if line.get_marker() in ("o", "s", "D")}
    bars = {tuple(np.round(np.asarray(line.get_xdata(), float), 6)) for line in axis.lines}
    for row in rows:
        mark, color = marks[row["difference"]], style.color(row["trick"])
        assert mark.get_marker() == {"leave-one-out": "s", "add-one-in": "o"}[row["design"]]
        assert mark.get_color() == color
        assert (mark.get_markerfacecolor() == color) == bool(row["detected"])
        assert (round(row["low"], 6), round(row["high"], 6)) in bars
        assert round(corner(mark)[1]) == ["baseline", "clip"].index(row["trick"])
    assert [text.get_text() for text in axis.texts] == ["□ − clip, clip_anneal"]
    assert axis.get_xlabel() == "difference in normalized area under the curve, with minus without"
    assert "95% intervals (Welch's t)" in heading(figures[0])
    assert "INCOMPLETE" not in heading(figures[0])


def test_what_other_seeds_showed_stands_thin_below_and_a_cell_that_they_do_not_confirm_is_hatched(
    tmp_path: Path, figures: list[Figure]
) -> None:
    second = {"again": 0.1, "again_low": 0.02, "again_high": 0.18, "confirmed": 1.0}
    refuted = {"again": -0.1, "again_low": -0.18, "again_high": -0.02, "confirmed": 0.0}
    rows = [
        effect("add-one-in", "CartPole-v1", "clip", 0.3, 0.001) | second,
        effect("add-one-in", "CartPole-v1", "gae", 0.3, 0.001) | refuted,
    ]
    forest_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "x")
    marks = [corner(line) for line in figures[0].axes[0].lines if line.get_marker() == "|"]
    assert marks == [(0.1, 0.1), (-0.1, 1.1)]
    heatmap_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "y")
    assert drawn(figures[1].axes[0]) == {(0, 0): ("+0.30", False), (0, 1): ("+0.30", True)}
    assert "not seen again on other seeds" in " ".join(" ".join(text.get_text() for text in figures[1].texts).split())


def corner(line: Line2D) -> tuple[float, float]:
    """The first point of a line."""
    (x, *_), (y, *_) = (np.asarray(data, float) for data in (line.get_xdata(), line.get_ydata()))
    return round(x, 6), round(y, 6)


def drawn(axis: plt.Axes) -> dict[tuple[int, int], tuple[str, bool]]:
    """Each cell's number, and whether it is hatched."""
    return {at: (text, hatched) for at, (text, _, hatched) in cells(axis).items()}


def cells(axis: plt.Axes) -> dict[tuple[int, int], tuple[str, str, bool]]:
    """Each cell's number and color, and whether it is hatched, by column and row."""
    found: dict[tuple[int, int], tuple[str, str, bool]] = {}
    for patch in axis.patches:
        assert isinstance(patch, Rectangle)
        at = (round(patch.get_x() + 0.5), round(patch.get_y() + 0.5))
        if patch.get_hatch():
            found[at] = (*found[at][:2], True)
        else:
            text = next(t for t in axis.texts if (round(t.get_position()[0]), round(t.get_position()[1])) == at)
            found[at] = (text.get_text(), to_hex(patch.get_facecolor()), False)
    return found


def test_the_heat_map_hatches_exactly_what_is_not_detected(tmp_path: Path, figures: list[Figure]) -> None:
    # by hand, of p-values 0.005, 0.02, 0.029, 0.045, 0.9: the third is below 3/5 of 5%, the fourth above 4/5
    rows = [
        effect("ladder", "CartPole-v1", "gae", 0.4, 0.029),
        effect("ladder", "CartPole-v1", "clip", -0.9, 0.045),
        effect("ladder", "Taxi-v4", "gae", 0.1, 0.005),
        effect("leave-one-out", "CartPole-v1", "gae", 0.004, 0.9),
        effect("leave-one-out", "CartPole-v1", "clip", -0.4, 0.02),
        effect("leave-one-out", "Taxi-v4", "gae", 0.2, np.nan),
    ]
    paths = heatmap_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "x")
    assert pd.read_csv(paths[-1]).hatched.tolist() == [False, True, False, True, False, True]
    first, second = figures[0].axes[:2]  # columns CartPole, Taxi; rows clip, gae
    one = {(0, 0): ("−0.90", True), (0, 1): ("+0.40", False), (1, 0): ("–", False), (1, 1): ("+0.10", False)}
    assert drawn(first) == one
    assert {at for at, (_, hatched) in drawn(second).items() if hatched} == {(0, 1), (1, 1)}
    assert drawn(second)[0, 1][0] == "0"
    assert cells(first)[1, 0][1] == UNKNOWN
    ends = [to_hex(plt.get_cmap("RdBu")(end)) for end in (0.0, 1.0)]  # of what is detected: -0.4 and 0.4
    assert [cells(second)[0, 0][1], cells(first)[0, 1][1]] == ends
    assert "INCOMPLETE" not in heading(figures[0])  # Taxi has clip in neither design


def test_what_is_certainly_small_is_about_zero_and_only_what_may_be_more_is_hatched(
    tmp_path: Path, figures: list[Figure]
) -> None:
    rows = [
        effect("ladder", "CartPole-v1", "clip", 0.01, 0.5) | {"low": -0.02, "high": 0.04},
        effect("ladder", "CartPole-v1", "gae", 0.01, 0.5) | {"low": -0.04, "high": 0.06},
        effect("ladder", "CartPole-v1", "entropy", 0.03, 0.001) | {"low": 0.02, "high": 0.04},  # small, but it is there
        effect("ladder", "CartPole-v1", "popart", 0.03, 0.001) | {"low": 0.02, "high": 0.04, "confirmed": 0.0},
        effect("ladder", "Unknown-v0", "clip", 0.01, 0.5) | {"low": -0.02, "high": 0.04},  # of which we know no scale
    ]
    heatmap_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "x")
    one = {(0, 0): ("≈ 0", False), (0, 1): ("+0.010", True), (0, 2): ("+0.030", False), (0, 3): ("+0.030", True)}
    assert drawn(figures[0].axes[0]) == one | {(1, 0): ("+0.01", True)} | dict.fromkeys(
        ((1, 1), (1, 2), (1, 3)), ("–", False)
    )


def test_an_environment_without_a_scale_has_numbers_but_no_color(tmp_path: Path, figures: list[Figure]) -> None:
    seen = [("ladder", "CartPole-v1", 0.1), ("ladder", "Unknown-v0", -50.0), ("leave-one-out", "CartPole-v1", 0.02)]
    rows = [effect(design, env, "gae", difference, 0.001) for design, env, difference in seen]
    heatmap_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "x")
    assert cells(figures[0].axes[0])[1, 0][:2] == ("−50", "#ffffff")
    one, two = ([label.get_text() for label in axis.get_xticklabels()] for axis in figures[0].axes[:2])
    assert (one, two) == (["CartPole-v1", "Unknown-v0 (return)"], ["CartPole-v1"])  # those of each design
    assert cells(figures[0].axes[0])[0, 0][1] == to_hex(plt.get_cmap("RdBu")(1.0))  # 0.1 is the farthest


def test_a_number_has_the_decimals_that_its_scale_needs_and_a_caveat_about_rates_names_its_environments() -> None:
    asked = [(-0.0031, 0.008), (-0.0031, 0.5), (0.127, np.nan), (-50.4, 80.0), (np.nan, 0.5)]
    assert [number(value, limit) for value, limit in asked] == ["−0.003", "0", "+0.13", "−50", "–"]
    assert [number(value, 0.5, clear=True) for value in (-0.0031, 0.0003, 0.127)] == ["−0.003", "0", "+0.13"]
    found = pd.DataFrame({"env": ["A", "B", "B"], "tuned": ["", "fixed", "fixed"]})
    assert about_rates(found) == "; learning rates fixed on B"
    assert about_rates(found[found.env == "B"]) == "; learning rates fixed"
    assert about_rates(found[found.env == "A"]) == ""


def test_main_effects_are_on_the_diagonal_and_interactions_below_it(tmp_path: Path, figures: list[Figure]) -> None:
    rows = [("reuse", -0.2, -0.3, -0.1, -1), ("clip", 0.1, -0.1, 0.3, 0), ("gae", 0.4, 0.3, 0.5, 1)]
    main = pd.DataFrame(rows, columns=["trick", "effect", "low", "high", "detected"]).assign(seeds=9, tuned="not tuned")
    unknown = ("reuse", "gae", np.nan, np.nan, np.nan)
    crossed = [("reuse", "clip", 0.3, 0.2, 0.4), unknown, ("clip", "gae", -0.1, np.nan, np.nan)]
    pairs = pd.DataFrame(crossed, columns=["a", "b", "interaction", "low", "high"])
    paths = interactions_figure(main, pairs, "CartPole-v1", tmp_path / "x", ["+ clip"])
    behind = pd.read_csv(paths[-1])
    assert behind.kind.tolist() == ["main"] * 3 + ["interaction"] * 3
    assert behind.value.tolist()[:4] == [-0.2, 0.1, 0.4, 0.3]
    assert "9 seeds; learning rates not tuned" in heading(figures[0])
    assert "INCOMPLETE: lacks runs of + clip" in heading(figures[0])
    assert drawn(figures[0].axes[0]) == {
        (0, 0): ("−0.20", False),
        (1, 1): ("+0.10", True),
        (2, 2): ("+0.40", False),
        (0, 1): ("+0.30", False),
        (0, 2): ("–", False),
        (1, 2): ("−0.10", True),  # no interval, so nothing is detected
    }
    interactions_figure(main, pairs.assign(interaction=np.nan), "CartPole-v1", tmp_path / "y")
    assert "cannot show interactions" in heading(figures[1])
    dots = [line for line in figures[1].axes[0].lines if line.get_marker() == "o"]
    assert [(corner(dot)[0], dot.get_markerfacecolor() == "white") for dot in dots] == [
        *((-0.2, False), (0.1, True), (0.4, False))
    ]
    few = main.assign(low=np.nan, high=np.nan, seeds=3), pairs.assign(low=np.nan, high=np.nan)
    interactions_figure(*few, "CartPole-v1", tmp_path / "z")  # nothing was tested, so nothing is hatched
    assert not any(hatched for _, hatched in drawn(figures[2].axes[0]).values())
    assert "Too few seeds for intervals" in figures[2].get_supxlabel()


def test_all_figures_fit_a_readme(tmp_path: Path, figures: list[Figure]) -> None:
    design = leave_one_out(PPO.on[:7])
    curves.solved_figure(rising(design), design, tmp_path / "x")
    rows = [effect(d, f"{k}-v0", n, 0.1, 0.1) for d in ("ladder", "add-one-in") for k in range(9) for n in NAMES]
    heatmap_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "y")
    forest_figure(pd.DataFrame(rows).query("env == '0-v0'"), DESIGNS, tmp_path / "z")
    assert all(figure.get_figwidth() <= style.WIDTH == 12 for figure in figures)
