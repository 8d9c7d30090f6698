"""The figure of a run, and the interval that it shows."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tricks import Config, InputError
from tricks.runs.intervals import students_interval
from tricks.runs.plot import WINDOWS, curve_figure, draw_curve, in_windows
from tricks.runs.run import Run

STEPS = 100 * WINDOWS  # 100 in a window


def a_run(returns: dict[int, list[float]], judged: float = float("nan")) -> Run:
    """Updates of 100 steps with an episode each."""
    rows = [
        {"seed": seed, "step": 100 * (k + 1), "episodes": 1, "return": x, "eval_return": judged}
        for seed, values in returns.items()
        for k, x in enumerate(values)
    ]
    config = Config(seeds=tuple(returns), steps=STEPS)
    return SimpleNamespace(config=config, curve=pd.DataFrame(rows))  # type: ignore[return-value]


def test_students_interval() -> None:
    low, high = students_interval(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))  # t₂ = 4.30265, s = 1
    np.testing.assert_allclose(low, [2 - 4.30265 / 3**0.5, 5], atol=1e-5)
    np.testing.assert_allclose(high, [2 + 4.30265 / 3**0.5, 5], atol=1e-5)


def test_a_window_is_the_mean_of_its_episodes() -> None:
    rows = [(0, 10, 3, 1.0), (0, 100, 1, 5.0), (0, 350, 2, 7.0), (1, 250, 1, 4.0), (1, STEPS + 30, 1, 8.0)]
    curve = pd.DataFrame(rows, columns=["seed", "step", "episodes", "return"])
    means = in_windows(curve, STEPS, "return", "episodes")
    assert means.index.tolist() == [100, 300, 400, STEPS]
    assert means[0].tolist() == [2, 2, 7, 7]  # (3·1 + 5) / 4; then the one before; the last update overshoots
    assert means[1].tolist() == pytest.approx([np.nan, 4, 4, 8], nan_ok=True)


def test_five_seeds_have_a_mean_and_an_interval() -> None:
    axes = curve_figure(a_run({seed: [seed, 10.0 + seed] for seed in range(5)})).axes[0]
    (line,) = axes.lines
    assert np.asarray(line.get_xydata()).tolist() == [[100, 2], [200, 12]]
    (band,) = axes.collections
    reach = 2.776445 * 2.5**0.5 / 5**0.5  # t₄ · s / √n
    box = band.get_paths()[0].get_extents()
    assert (box.y0, box.y1) == pytest.approx((2 - reach, 12 + reach), abs=1e-5)
    assert axes.get_title(loc="left") == "CartPole-v1: mean and 95% interval over 5 seeds"


def test_a_seed_without_an_episode_is_not_counted_as_drawn() -> None:
    returns = {seed: [seed, 10.0 + seed] for seed in range(4)} | {4: [np.nan, np.nan]}
    axes = curve_figure(a_run(returns)).axes[0]
    assert not axes.collections
    assert axes.get_title(loc="left") == "CartPole-v1: mean of 4 of 5 seeds"


def test_fewer_seeds_have_a_line_each_instead() -> None:
    axes = curve_figure(a_run({seed: [seed, 10.0 + seed] for seed in range(4)})).axes[0]
    assert [np.asarray(line.get_ydata())[0] for line in axes.lines] == [1.5, 0, 1, 2, 3]
    assert not axes.collections
    assert axes.get_title(loc="left") == "CartPole-v1: mean of 4 seeds"


def test_evaluations_are_a_line_of_their_own() -> None:
    axes = curve_figure(a_run({seed: [1.0, 2.0] for seed in range(5)}, judged=9.0)).axes[0]
    assert [np.asarray(line.get_ydata()).tolist() for line in axes.lines] == [[1, 2], [9, 9]]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["in training", "greedy evaluation"]


def test_a_run_in_which_no_episode_ended_has_an_empty_figure(tmp_path: Path) -> None:
    draw_curve(a_run({0: [np.nan], 1: [np.nan]}), tmp_path / "x.png")
    with Image.open(tmp_path / "x.png") as image:
        assert image.size == (1050, 600)


def test_a_figure_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot write .*nowhere/x\.png: No such file or directory$"):
        draw_curve(a_run({0: [1.0]}), tmp_path / "nowhere" / "x.png")
