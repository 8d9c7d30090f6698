"""Figures: the numbers behind them, lines, marks, titles about what is missing; a trick keeps its color everywhere."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from PIL import Image
from support.studies import MADE_BY, about

from ablations import SCALES, effects, interval, style
from ablations.analysis.records import COLUMNS, SHARES, Study
from ablations.findings.our_designs import beyond
from ablations.question.arms import Design, Label, added, flags, taken
from ablations.question.designs import add_one_in, ladder, leave_one_out
from ablations.report import multiples as curves
from ablations.report.cells import forest_figure, heatmap_figure, told_apart
from ablations.report.style import save
from tricks.ladder import COLORS, LADDER, NEEDS, REINFORCE


@pytest.fixture(autouse=True)
def figures(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Figure]]:
    """The figures that were saved, at a low resolution and still open."""
    kept: list[Figure] = []
    monkeypatch.setattr(plt, "close", kept.append)
    monkeypatch.setitem(style.SETTINGS, "savefig.dpi", 30)
    yield kept
    monkeypatch.undo()
    plt.close("all")


def test_a_trick_has_one_color_whatever_goes_along_which_can_be_read_on_white() -> None:
    for design in (ladder(LADDER), leave_one_out(LADDER), add_one_in(LADDER), beyond(LADDER)):
        assert all(style.color(pair.label) == style.color(pair.trick) for pair in design.comparisons)
    assert style.color(taken("clip", ["clip_anneal"])) == style.color(added(["reuse", "clip"])) == style.color("clip")
    assert style.color(Label("reuse")) == style.INK  # the name of an arm that is about no trick
    assert style.color("reinforce") == style.color("all") == style.color("anything else") == style.INK
    assert len({style.color(name) for name in NEEDS}) == len(NEEDS)
    for color in COLORS.values():
        assert 1.05 / (0.05 + linear(color) @ (0.2126, 0.7152, 0.0722)) >= 3, color  # as WCAG defines contrast


def seen(color: str, deuteranope: bool) -> np.ndarray:
    """In OKLab (Ottosson 2020), as seen with normal vision or without the middle cones (Machado et al. 2009)."""
    rgb = linear(color)
    if deuteranope:
        rgb = [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]] @ rgb
    cones = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]] @ np.clip(rgb, 0, 1)
    return [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]] @ np.cbrt(cones)


def linear(color: str) -> np.ndarray:
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


NAMES = ("baseline", "reuse", "clip")
DESIGNS = [ladder(NAMES), leave_one_out(NAMES), add_one_in(NAMES)]


def rising(*designs: Design, env: str = "CartPole-v1", seeds: int = 5) -> Study:
    """Curves that rise to 100 for each trick that is on, and differ from seed to seed."""
    rng, rows = np.random.default_rng(0), []
    for tricks in dict.fromkeys(arm.tricks for design in designs for arm in design.arms):
        for seed in range(seeds):
            curve = 50 + 100 * len(tricks.on) * np.linspace(0, 1, 100) + rng.normal(0, 5)
            setting = "", env, 1000, "", flags(tricks), 0.01, "", seed
            rows.append([*setting, *MADE_BY, np.nan, curve[-10:].mean(), *curve])
    return Study("x", designs, pd.DataFrame(rows, columns=COLUMNS), about(seeds))


def heading(figure: Figure) -> str:
    return figure.get_suptitle().replace("\n", " ")


def effect(design: str, env: str, trick: str, difference: float, p: float, label: Any = None) -> dict[str, Any]:
    """One comparison, its interval 0.1 to either side; detected if p < 0.01, and not tried again."""
    detected = int(np.sign(difference) * (p < 0.01))
    row: dict[str, Any] = {"design": design, "env": env, "scaled": env in SCALES, "trick": trick}
    row |= {"label": label or added([trick]), "p": p, "p_holm": p, "detected": detected}
    row |= {"difference": difference, "low": difference - 0.1, "high": difference + 0.1}
    row |= {"without": 0.5, "with": 0.5 + difference, "verdict": "unknown", "seeds": 9, "tuned": "", "choosing": np.nan}
    return row | dict.fromkeys(("again", "again_low", "again_high", "confirmed"), np.nan)


def panel(figure: Figure, name: str) -> plt.Axes:
    (axis,) = (axis for axis in figure.axes if axis.get_title("left") == name)
    return axis


def test_each_curve_has_its_mean_and_its_bootstrap_interval(tmp_path: Path, figures: list[Figure]) -> None:
    design = ladder(NAMES)
    data = rising(design)
    paths = curves.curves_figure(data, design, tmp_path / "curves_Reward0.01-v0")  # a dot is no suffix
    assert [path.name for path in paths] == [f"curves_Reward0.01-v0.{kind}" for kind in ("png", "csv")]
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
        assert edge.min() == low.min() and edge.max() == high.max()
    assert "95% bootstrap" in figures[0].get_supxlabel() and "INCOMPLETE" not in heading(figures[0])


@pytest.mark.parametrize("design", [*DESIGNS, add_one_in(("baseline", "value_clip"))], ids=lambda design: design.name)
def test_a_panel_has_its_arm_bold_and_the_other_dashed(design: Design, tmp_path: Path, figures: list[Figure]) -> None:
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


def test_too_few_seeds_have_no_band_and_a_silent_seed_is_named(tmp_path: Path, figures: list[Figure]) -> None:
    design = ladder(("baseline",))
    few, silent = rising(design, seeds=4), rising(design)
    silent.runs.loc[silent.runs.tricks == "", SHARES] = silent.runs.loc[[2], SHARES].to_numpy()
    silent.runs.loc[3, SHARES] = np.nan
    for data in (few, silent):
        curves.curves_figure(data, design, tmp_path / "x")
    assert "no band: fewer than 5 seeds" in figures[0].get_supxlabel()
    said = " ".join(text.get_text() for axis in figures[1].axes for text in axis.texts)
    assert "no episode ended in 1 seeds: mean of the others" in " ".join(said.split())
    behind = pd.read_csv(tmp_path / "x.csv").set_index("arm")
    np.testing.assert_allclose(behind.loc["reinforce"]["return"], silent.grid(REINFORCE).loc[2], rtol=1e-5)
    assert behind.loc["reinforce"].low.isna().all() and behind.loc["+ baseline"].low.notna().all()


def test_an_incomplete_design_is_named_in_the_title(tmp_path: Path, figures: list[Figure]) -> None:
    design, other = ladder(NAMES[:2]), add_one_in(NAMES[:2])
    whole = rising(design, other)
    for seeds in (4, 0):  # a seed is missing, all are
        gone = (whole.runs.tricks == flags(design.arms[-1].tricks)) & (whole.runs.seed >= seeds)
        data = Study(whole.name, whole.designs, whole.runs[~gone], whole.about)
        curves.curves_figure(data, design, tmp_path / "curves")
        found = pd.concat([effects(data, one) for one in (design, other)])
        for draw in (forest_figure, heatmap_figure):
            draw(found, (design, other), tmp_path / "x", data.missing(design))
    assert all(heading(figure).endswith("INCOMPLETE: lacks runs of + reuse") for figure in figures)


def test_a_forest_has_a_mark_a_comparison_filled_where_detected(tmp_path: Path, figures: list[Figure]) -> None:
    rows = [
        effect("leave-one-out", "CartPole-v1", "clip", 0.3, 0.001, taken("clip", ["clip_anneal"])),
        effect("leave-one-out", "CartPole-v1", "baseline", -0.2, 0.5, taken("baseline", [])),
        effect("add-one-in", "CartPole-v1", "clip", -0.4, 0.02, added(["reuse", "clip"])),
        effect("add-one-in", "CartPole-v1", "baseline", 0.25, 0.002),
    ]
    paths = forest_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "x", [])
    assert pd.read_csv(paths[-1]).difference.tolist() == [0.3, -0.2, -0.4, 0.25]
    axis = figures[0].axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["baseline", "clip"]  # in ladder order
    marks = {corner(line)[0]: line for line in axis.lines if line.get_marker() in ("o", "s", "D")}
    bars = {tuple(np.round(np.asarray(line.get_xdata(), float), 6)) for line in axis.lines}
    for row in rows:
        mark, color = marks[row["difference"]], style.color(row["trick"])
        assert mark.get_marker() == {"leave-one-out": "s", "add-one-in": "o"}[row["design"]]
        assert mark.get_color() == color and (mark.get_markerfacecolor() == color) == bool(row["detected"])
        assert (round(row["low"], 6), round(row["high"], 6)) in bars
        assert round(corner(mark)[1]) == ["baseline", "clip"].index(row["trick"])
    assert [text.get_text() for text in axis.texts] == ["□ − clip, clip_anneal"]


def test_what_other_seeds_show_stands_below_and_hatches_what_they_refute(tmp_path: Path, figures: list[Figure]) -> None:
    second = {"again": 0.1, "again_low": 0.02, "again_high": 0.18, "confirmed": 1.0}
    refuted = {"again": -0.1, "again_low": -0.18, "again_high": -0.02, "confirmed": 0.0}
    again = {"clip": second, "gae": refuted}
    rows = [effect("add-one-in", "CartPole-v1", name, 0.3, 0.001) | more for name, more in again.items()]
    forest_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "x", [])
    marks = [corner(line) for line in figures[0].axes[0].lines if line.get_marker() == "|"]
    assert marks == [(0.1, 0.1), (-0.1, 1.1)]
    heatmap_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "y", [])
    assert hatched(figures[1].axes[0]) == {(0, 1)}
    assert "not seen again on other seeds" in " ".join(" ".join(text.get_text() for text in figures[1].texts).split())


def corner(line: Line2D) -> tuple[float, float]:
    x, y = np.asarray(line.get_xydata(), float)[0].round(6).tolist()
    return x, y


def hatched(axis: plt.Axes) -> set[tuple[int, int]]:
    """Columns and rows of the cells that are hatched."""
    cells = [patch for patch in axis.patches if isinstance(patch, Rectangle) and patch.get_hatch()]
    return {(round(cell.get_x() + 0.5), round(cell.get_y() + 0.5)) for cell in cells}


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
    paths = heatmap_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "x", [])
    assert pd.read_csv(paths[-1]).hatched.tolist() == [False, True, False, True, False, True]
    first, second = figures[0].axes[:2]  # columns CartPole, Taxi; rows clip, gae
    assert (hatched(first), hatched(second)) == ({(0, 0)}, {(0, 1), (1, 1)})
    assert "INCOMPLETE" not in heading(figures[0])  # Taxi has clip in neither design


def test_what_is_certainly_small_is_about_zero_and_only_more_is_hatched() -> None:
    rows = [
        effect("ladder", "CartPole-v1", "clip", 0.01, 0.5) | {"low": -0.02, "high": 0.04},
        effect("ladder", "CartPole-v1", "gae", 0.01, 0.5) | {"low": -0.04, "high": 0.06},
        effect("ladder", "CartPole-v1", "entropy", 0.03, 0.001) | {"low": 0.02, "high": 0.04},  # small, but it is there
        effect("ladder", "CartPole-v1", "popart", 0.03, 0.001) | {"low": 0.02, "high": 0.04, "confirmed": 0.0},
        effect("ladder", "Unknown-v0", "clip", 0.01, 0.5) | {"low": -0.02, "high": 0.04},  # of which we know no scale
    ]
    found = told_apart(pd.DataFrame(rows))
    assert found.small.tolist() == [True, False, False, False, False]
    assert found.hatched.tolist() == [False, True, False, True, True]


def test_an_environment_without_a_scale_is_in_units_of_return(tmp_path: Path, figures: list[Figure]) -> None:
    seen = [("ladder", "CartPole-v1", 0.1), ("ladder", "Unknown-v0", -50.0), ("leave-one-out", "CartPole-v1", 0.02)]
    rows = [effect(design, env, "gae", difference, 0.001) for design, env, difference in seen]
    heatmap_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "x", [])
    one, two = ([label.get_text() for label in axis.get_xticklabels()] for axis in figures[0].axes[:2])
    assert (one, two) == (["CartPole-v1", "Unknown-v0 (return)"], ["CartPole-v1"])  # those of each design


@pytest.mark.parametrize("unit", [1, 1e-6])
def test_groups_of_other_lengths_share_the_grid_of_the_shortest_in_any_unit_of_steps(unit: float) -> None:
    ends = {"long": 900 * unit, "short": 200 * unit}
    runs = [pd.DataFrame({"arm": arm, "seed": 0, "step": (unit, end), "return": (1.0, 3)}) for arm, end in ends.items()]
    grids = curves.on_grids(pd.concat(runs))
    assert [grid.columns[-1] for grid in grids.values()] == [200 * unit] * 2
    assert grids["short"].mean(axis=1).item() == pytest.approx(2, abs=0.02)
