"""Figures: the numbers behind each picture, its colors, bands and hatching, and that it says what is missing."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from ablations.analysis.effects import effects
from ablations.analysis.stats import interval
from ablations.analysis.studies import COLUMNS, Study
from ablations.design.designs import add_one_in, beyond, factorial, ladder, leave_one_out, screen
from ablations.design.flags import flags
from ablations.design.labels import Label, added, taken
from ablations.design.story import Design
from ablations.figures import curves, style
from ablations.figures.cells import UNKNOWN, number
from ablations.figures.forest import forest_figure
from ablations.figures.heatmap import heatmap_figure
from ablations.figures.interactions import interactions_figure
from tricks.ladder import LADDER, NEEDS, PPO, REINFORCE, Tricks

NAMES = ("baseline", "reuse", "clip")
DESIGNS = [ladder(NAMES), leave_one_out(NAMES), add_one_in(NAMES)]


def study(*designs: Design, env: str = "CartPole-v1", seeds: int = 5) -> Study:
    """Curves that rise to 100 for each trick that is on, and differ from seed to seed."""
    rng, rows = np.random.default_rng(0), []
    for tricks in dict.fromkeys(arm.tricks for design in designs for arm in design.arms):
        for seed in range(seeds):
            curve = 50 + 100 * len(tricks.on) * np.linspace(0, 1, 100) + rng.normal(0, 5)
            rows.append([env, 1000, "", flags(tricks), 0.01, "", seed, np.nan, curve[-10:].mean(), *curve])
    return Study("x", designs, pd.DataFrame(rows, columns=COLUMNS), {"seeds": [0, seeds]})


def lacking(whole: Study, tricks: Tricks, seeds: int) -> Study:
    """Without an arm's runs from this seed on."""
    gone = (whole.runs.tricks == flags(tricks)) & (whole.runs.seed >= seeds)
    return Study(whole.name, whole.designs, whole.runs[~gone], whole.about)


@pytest.fixture(autouse=True)
def figures(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Figure]]:
    """The figures that were saved, in few dots, still open."""
    kept: list[Figure] = []
    monkeypatch.setattr(plt, "close", kept.append)
    monkeypatch.setitem(style.SETTINGS, "savefig.dpi", 30)
    yield kept
    monkeypatch.undo()
    plt.close("all")


def heading(figure: Figure) -> str:
    return figure.get_suptitle().replace("\n", " ")


def panel(figure: Figure, name: str) -> plt.Axes:
    (axis,) = (axis for axis in figure.axes if axis.get_title("left") == name)
    return axis


def test_each_curve_has_its_mean_and_its_bootstrap_interval(tmp_path: Path, figures: list[Figure]) -> None:
    design = ladder(NAMES)
    data = study(design)
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
        edge = band.get_paths()[0].vertices[:, 1]
        assert edge.min() == low.min()
        assert edge.max() == high.max()
    texts = " ".join(text.get_text() for axis in figures[0].axes for text in axis.texts)
    assert "95% bootstrap" in texts
    assert "INCOMPLETE" not in heading(figures[0])


@pytest.mark.parametrize("design", [*DESIGNS, add_one_in(("baseline", "value_clip"))], ids=lambda design: design.name)
def test_a_panel_shows_its_arm_bold_and_what_it_is_compared_to_dashed(
    design: Design, tmp_path: Path, figures: list[Figure]
) -> None:
    data = study(design)
    curves.curves_figure(data, design, tmp_path / "x")
    assert len([axis for axis in figures[0].axes if axis.get_title("left")]) == 1 + len(design.comparisons)
    for pair in design.comparisons:
        taken = design.name == "leave-one-out"
        axis = panel(figures[0], f"{'−' if taken else '+'} {pair.trick}")
        bold, dashed = axis.lines[-1], axis.lines[-2]
        mine, other = (pair.without, pair.having) if taken else (pair.having, pair.without)
        np.testing.assert_array_equal(bold.get_ydata(), data.grid(mine).mean())
        np.testing.assert_array_equal(dashed.get_ydata(), data.grid(other).mean())
        assert dashed.is_dashed()
        assert not bold.is_dashed()
        assert bold.get_color() == style.COLORS[pair.trick]


def test_a_trick_has_one_color_whatever_goes_along() -> None:
    for design in (ladder(LADDER), leave_one_out(LADDER), add_one_in(LADDER), beyond(LADDER)):
        for pair in design.comparisons:
            assert pair.label.trick == pair.trick
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
    for color in style.PALETTE:
        assert 1.05 / (0.05 + linear(color) @ (0.2126, 0.7152, 0.0722)) >= 3, color  # as WCAG defines contrast


def test_too_few_seeds_have_no_band_and_a_silent_seed_is_named(tmp_path: Path, figures: list[Figure]) -> None:
    design = ladder(("baseline",))
    few, silent = study(design, seeds=4), study(design)
    silent.runs.loc[silent.runs.tricks == "", COLUMNS[9:]] = silent.runs.loc[[2], COLUMNS[9:]].to_numpy()
    silent.runs.loc[3, COLUMNS[9:]] = np.nan
    for data in (few, silent):
        curves.curves_figure(data, design, tmp_path / "x")
    curves.solved_figure(few, design, tmp_path / "few")
    assert pd.read_csv(tmp_path / "few.csv")[["low", "high"]].isna().all(axis=None)
    said = [" ".join(text.get_text() for axis in figure.axes for text in axis.texts) for figure in figures]
    assert "no band: fewer than 5 seeds" in said[0]
    assert "no episode ended in 1 seeds: mean of the others" in " ".join(said[1].split())
    behind = pd.read_csv(tmp_path / "x.csv")
    np.testing.assert_allclose(behind[behind.arm == "reinforce"]["return"], silent.grid(REINFORCE).loc[2], rtol=1e-5)
    assert behind[behind.arm == "reinforce"].low.isna().all()
    assert behind[behind.arm == "+ baseline"].low.notna().all()


def test_an_incomplete_design_is_named_in_the_title(tmp_path: Path, figures: list[Figure]) -> None:
    design, other = ladder(NAMES[:2]), add_one_in(NAMES[:2])
    whole = study(design, other)
    last = design.arms[-1].tricks
    for data in (lacking(whole, last, 4), lacking(whole, last, 0)):  # a seed is missing, all are
        curves.curves_figure(data, design, tmp_path / "curves")
        curves.solved_figure(data, design, tmp_path / "solved")
        found = pd.concat([effects(data, one) for one in (design, other)])
        forest_figure(found, (design, other), tmp_path / "forest")
        heatmap_figure(found, (design, other), tmp_path / "heatmap")
    titles = [heading(figure) for figure in figures]
    for k in (0, 4):
        assert all("INCOMPLETE: lacks runs of + reuse" in title for title in titles[k : k + 2])
        assert all("INCOMPLETE: lacks runs of ladder on CartPole-v1: reuse" in title for title in titles[k + 2 : k + 4])
    forest_figure(found, (design, other), tmp_path / "forest", ["+ gae"])
    assert heading(figures[-1]).endswith("INCOMPLETE: lacks runs of + gae")


def test_crossed_designs_have_no_small_multiples(tmp_path: Path) -> None:
    for design in (factorial(("baseline", "reuse")), screen(("baseline", "reuse"))):
        for draw in (curves.curves_figure, curves.solved_figure, curves.robustness_figure):
            assert draw(study(design), design, tmp_path / "x") == []
    assert list(tmp_path.iterdir()) == []


def test_solved_is_the_share_of_seeds_that_have_reached_the_threshold(tmp_path: Path, figures: list[Figure]) -> None:
    design = ladder(("baseline",))
    data = study(design, seeds=10)
    steps = np.arange(10, 1001, 10)
    for seed, row in enumerate(data.runs.index[:10]):  # seeds 0 to 2 never; 3 to 9 at 40, 50, ..., 100%, then fall back
        at = 100 * (seed + 1) if seed >= 3 else 0
        data.runs.loc[row, COLUMNS[9:]] = np.where((at - 100 < steps) & (steps <= at), 475.0, 474.0)
    paths = curves.solved_figure(data, design, tmp_path / "x")
    behind = pd.read_csv(paths[-1])
    mine = behind[behind.arm == "reinforce"].set_index("step")
    assert mine.solved[[10, 390, 400, 490, 500, 1000]].tolist() == [0, 0, 0.1, 0.1, 0.2, 0.7]
    squared = 1.959964**2  # Wilson's interval of none of 10 reaches to z² / (10 + z²)
    assert mine.low[10] == pytest.approx(0, abs=1e-9)
    assert mine.high[10] == pytest.approx(squared / (10 + squared), abs=1e-5)
    assert "mean return over a tenth of the budget ≥ 475" in heading(figures[0])
    assert "INCOMPLETE" not in heading(figures[0])
    unknown = study(design, env="Unknown-v0")
    assert curves.solved_figure(unknown, design, tmp_path / "y") == []


def tuned(design: Design, without: str) -> pd.DataFrame:
    """Scores of 5 seeds at four rates, and at one more that is the best; of one arm none, and of one other budget."""
    rows = [
        ("CartPole-v1", steps, "", flags(arm.tricks), lr, area, area, 5)
        for steps in (1000, 2000)
        for arm in design.arms
        if steps == 2000 or arm.name != without
        for lr, area in ((0.001, 100.0), (0.003, 300.0), (0.01, 200.0), (0.03, 80.0), (0.1, 450.0))
    ]
    return pd.DataFrame(rows, columns=["env", "steps", "numbers", "tricks", "lr", "area", "late", "seeds"])


def test_robustness_shows_every_tuned_rate_the_best_and_the_grids_mean(
    tmp_path: Path, figures: list[Figure], monkeypatch: pytest.MonkeyPatch
) -> None:
    design = ladder(NAMES)
    data = study(design)
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


def effect(
    design: str, env: str, trick: str, difference: float, p: float, label: Label | None = None
) -> dict[str, object]:
    detected = int(np.sign(difference) * (p < 0.01))
    row = {"design": design, "env": env, "trick": trick, "label": label or added([trick]), "difference": difference}
    return row | {
        "low": difference - 0.1,
        "high": difference + 0.1,
        "p": p,
        "p_holm": p,
        "detected": detected,
        "seeds": 9,
        "tuned": "",
    }


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
    marks = {round(float(line.get_xdata()[0]), 6): line for line in axis.lines if line.get_marker() in "osD"}
    bars = {tuple(np.round(line.get_xdata(), 6)) for line in axis.lines}
    for row in rows:
        mark, color = marks[row["difference"]], style.color(str(row["trick"]))
        assert mark.get_marker() == {"leave-one-out": "s", "add-one-in": "o"}[str(row["design"])]
        assert mark.get_color() == color
        assert (mark.get_markerfacecolor() == color) == bool(row["detected"])
        assert (round(row["low"], 6), round(row["high"], 6)) in bars
        assert round(mark.get_ydata()[0]) == ["baseline", "clip"].index(row["trick"])
    assert [text.get_text() for text in axis.texts] == ["□ − clip, clip_anneal"]
    assert axis.get_xlabel() == "difference in normalized area under the curve, with minus without"
    assert "Student's t, paired by seed" in heading(figures[0])
    assert "INCOMPLETE" not in heading(figures[0])


def cells(axis: plt.Axes) -> dict[tuple[int, int], tuple[str, str, bool]]:
    """By column and row: the number, the color, whether it is hatched."""
    found = {}
    for patch in axis.patches:
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
        effect("ladder", "CartPole-v1", "clip", -0.2, 0.045),
        effect("ladder", "Taxi-v4", "gae", 0.1, 0.005),
        effect("leave-one-out", "CartPole-v1", "gae", 0.004, 0.9),
        effect("leave-one-out", "CartPole-v1", "clip", -0.4, 0.02),
        effect("leave-one-out", "Taxi-v4", "gae", 0.2, np.nan),
    ]
    paths = heatmap_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "x")
    assert pd.read_csv(paths[-1]).hatched.tolist() == [False, True, False, True, False, True]
    one, two = (cells(axis) for axis in figures[0].axes[:2])  # columns CartPole, Taxi; rows clip, gae
    assert {at: hatched for at, (_, _, hatched) in one.items()} == {
        (0, 0): True,
        (0, 1): False,
        (1, 0): False,
        (1, 1): False,
    }
    assert {at: hatched for at, (_, _, hatched) in two.items()} == {
        (0, 0): False,
        (0, 1): True,
        (1, 0): False,
        (1, 1): True,
    }
    assert [one[at][0] for at in ((0, 0), (0, 1), (1, 0), (1, 1))] == ["−0.20", "+0.40", "–", "+0.10"]
    assert two[0, 1][0] == "0"
    assert one[1, 0][1] == UNKNOWN
    ends = [to_hex(plt.get_cmap("RdBu")(end)) for end in (0.0, 1.0)]  # symmetric limits: -0.4 and 0.4
    assert (two[0, 0][1], one[0, 1][1]) == tuple(ends)
    assert "INCOMPLETE" not in heading(figures[0])  # Taxi has clip in neither design


def test_an_environment_without_a_scale_has_numbers_but_no_color(tmp_path: Path, figures: list[Figure]) -> None:
    rows = [effect("ladder", "CartPole-v1", "gae", 0.1, 0.001), effect("ladder", "Unknown-v0", "gae", -50.0, 0.001)]
    heatmap_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "x")
    assert cells(figures[0].axes[0])[1, 0][:2] == ("−50", "#ffffff")
    assert figures[0].axes[0].get_xticklabels()[1].get_text() == "Unknown-v0 (return)"
    assert cells(figures[0].axes[0])[0, 0][1] == to_hex(plt.get_cmap("RdBu")(1.0))  # 0.1 is the farthest


def test_a_number_has_the_decimals_that_the_scale_of_its_figure_needs() -> None:
    asked = [(-0.0031, 0.008), (-0.0031, 0.5), (0.127, np.nan), (-50.4, 80.0), (np.nan, 0.5)]
    assert [number(value, limit) for value, limit in asked] == ["−0.003", "0", "+0.13", "−50", "–"]
    assert [number(value, 0.5, clear=True) for value in (-0.0031, 0.0003, 0.127)] == ["−0.003", "0", "+0.13"]


def test_main_effects_are_on_the_diagonal_and_interactions_below_it(tmp_path: Path, figures: list[Figure]) -> None:
    main = pd.DataFrame(
        [("reuse", -0.2, -0.3, -0.1), ("clip", 0.1, -0.1, 0.3), ("gae", 0.4, 0.3, 0.5)],
        columns=["trick", "effect", "low", "high"],
    )
    pairs = pd.DataFrame(
        [
            ("reuse", "clip", 0.3, 0.2, 0.4),
            ("reuse", "gae", np.nan, np.nan, np.nan),
            ("clip", "gae", -0.1, np.nan, np.nan),
        ],
        columns=["a", "b", "interaction", "low", "high"],
    )
    main = main.assign(seeds=9, tuned="not tuned", detected=[-1, 0, 1])
    paths = interactions_figure(main, pairs, "CartPole-v1", tmp_path / "x", ["+ clip"])
    assert "9 seeds; learning rates not tuned" in heading(figures[0])
    found = cells(figures[0].axes[0])
    assert {at: (text, hatched) for at, (text, _, hatched) in found.items()} == {
        (0, 0): ("−0.20", False),
        (1, 1): ("+0.10", True),
        (2, 2): ("+0.40", False),
        (0, 1): ("+0.30", False),
        (0, 2): ("–", False),
        (1, 2): ("−0.10", True),  # no interval, so nothing is detected
    }
    assert "INCOMPLETE: lacks runs of + clip" in heading(figures[0])
    behind = pd.read_csv(paths[-1])
    assert behind.kind.tolist() == ["main"] * 3 + ["interaction"] * 3
    assert behind.value.tolist()[:4] == [-0.2, 0.1, 0.4, 0.3]
    interactions_figure(main, pairs.assign(interaction=np.nan), "CartPole-v1", tmp_path / "y")
    assert "cannot tell interactions" in heading(figures[1])
    few = main.assign(low=np.nan, high=np.nan, seeds=3), pairs.assign(low=np.nan, high=np.nan)
    interactions_figure(*few, "CartPole-v1", tmp_path / "z")  # nothing was tested, so nothing is hatched
    assert not any(hatched for _, _, hatched in cells(figures[2].axes[0]).values())
    assert "Too few seeds for intervals" in figures[2].get_supxlabel()
    dots = [line for line in figures[1].axes[0].lines if line.get_marker() == "o"]
    assert [dot.get_xdata()[0] for dot in dots] == [-0.2, 0.1, 0.4]
    assert [dot.get_markerfacecolor() == "white" for dot in dots] == [False, True, False]


def test_all_figures_fit_a_readme(tmp_path: Path, figures: list[Figure]) -> None:
    design = leave_one_out(PPO.on[:7])
    curves.solved_figure(study(design), design, tmp_path / "x")
    rows = [effect(d, f"{k}-v0", n, 0.1, 0.1) for d in ("ladder", "add-one-in") for k in range(9) for n in NAMES]
    heatmap_figure(pd.DataFrame(rows), DESIGNS, tmp_path / "y")
    forest_figure(pd.DataFrame(rows).query("env == '0-v0'"), DESIGNS, tmp_path / "z")
    assert all(figure.get_figwidth() <= style.WIDTH == 12 for figure in figures)
