"""What a run looks like: one line at a prompt, its curve in a notebook, axes on request."""

import io
import re
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from tricks import CONTINUOUS, EVERY, PPO, REINFORCE, Config, Run, Tricks, train
from tricks.cli.shell import parse
from tricks.ladder import rungs, switched
from tricks.runs.learning_curve import read_table
from tricks.runs.run import WINDOWS, in_windows, rung


@pytest.fixture(scope="module")
def run() -> Run:
    config = Config("ShortCartPole-v0", seeds=5, steps=600, lanes=4, horizon=16, hidden=(8,))
    return train(config, replace(PPO, gae=False))


def test_a_run_is_one_short_line(run: Run) -> None:
    assert re.fullmatch(
        r"<Run: ppo --no-gae, ShortCartPole-v0, 5 seeds × 600 steps; return over the last 10%: "
        r"\d+\.\d, 95% interval \[\d+\.\d, \d+\.\d\] \(Student's t over 5 seeds\)>",
        repr(run),
    )
    assert "1 seed × 600 steps" in repr(run.only(3))


def test_a_notebook_shows_the_curve(run: Run) -> None:
    assert run._repr_png_().startswith(b"\x89PNG")
    assert "no episode ended there" in repr(replace(run, curve=run.curve.assign(episodes=0)))


def test_a_rung_is_told_by_the_nearest_preset_and_the_command_line_means_the_same() -> None:
    for tricks, said in (
        (REINFORCE, "reinforce"),
        (Tricks(baseline=True), "reinforce --baseline"),
        (replace(PPO, gae=False, state_norm=True), "ppo --no-gae --state-norm"),
        (EVERY, "every"),
        (CONTINUOUS, "continuous"),
    ):
        assert rung(tricks) == said
    for tricks in (*rungs(), switched(["baseline", "entropy"])):
        assert parse(rung(tricks).split(), "train")[0] == tricks


def test_plot_draws_on_the_axes_that_it_is_given_or_on_new_ones(run: Run) -> None:
    plt.switch_backend("Agg")
    axes = plt.figure().subplots()
    assert run.plot(axes) is axes
    assert (other := run.plot()) is plt.gca()
    assert len(axes.lines) == len(other.lines) == 1
    assert axes.get_title(loc="left") == "ShortCartPole-v0: mean and 95% interval over 5 seeds"
    plt.close("all")


STEPS = 100 * WINDOWS  # 100 in a window


def a_run(returns: dict[int, list[float]], judged: float = float("nan")) -> Run:
    """Updates of 100 steps with an episode each."""
    rows = [
        {"seed": seed, "step": 100 * (k + 1), "episodes": 1, "return": x, "eval_return": judged}
        for seed, values in returns.items()
        for k, x in enumerate(values)
    ]
    config = Config(seeds=tuple(returns), steps=STEPS)
    return Run(config, PPO, None, pd.DataFrame(rows), {}, {}, 0.0)  # type: ignore[arg-type]


def test_a_window_is_the_mean_of_its_episodes() -> None:
    rows = [(0, 10, 3, 1.0), (0, 100, 1, 5.0), (0, 350, 2, 7.0), (1, 250, 1, 4.0), (1, STEPS + 30, 1, 8.0)]
    curve = pd.DataFrame(rows, columns=["seed", "step", "episodes", "return"])
    means = in_windows(curve, STEPS, "return", "episodes")
    assert means.index.tolist() == [100, 300, 400, STEPS]
    assert means[0].tolist() == [2, 2, 7, 7]  # (3·1 + 5) / 4; then the one before; the last update overshoots
    assert means[1].tolist() == pytest.approx([np.nan, 4, 4, 8], nan_ok=True)


def test_five_seeds_have_a_mean_and_an_interval() -> None:
    axes = a_run({seed: [seed, 10.0 + seed] for seed in range(5)}).plot(Figure().subplots())
    (line,), (band,) = axes.lines, axes.collections
    assert np.asarray(line.get_xydata()).tolist() == [[100, 2], [200, 12]]
    reach = 2.776445 * 2.5**0.5 / 5**0.5  # t₄ · s / √n
    box = band.get_paths()[0].get_extents()
    assert (box.y0, box.y1) == pytest.approx((2 - reach, 12 + reach), abs=1e-5)
    assert axes.get_title(loc="left") == "CartPole-v1: mean and 95% interval over 5 seeds"


def test_fewer_seeds_have_a_line_each_instead() -> None:
    returns = {seed: [seed, 10.0 + seed] for seed in range(4)}
    for more, seeds in (({}, "4"), ({4: [np.nan, np.nan]}, "4 of 5")):  # one without an episode is not counted as drawn
        axes = a_run(returns | more).plot(Figure().subplots())
        assert [np.asarray(line.get_ydata())[0] for line in axes.lines[:5]] == [1.5, 0, 1, 2, 3]
        assert not axes.collections
        assert axes.get_title(loc="left") == f"CartPole-v1: mean of {seeds} seeds"


def test_evaluations_are_a_line_of_their_own() -> None:
    axes = a_run({seed: [1.0, 2.0] for seed in range(5)}, judged=9.0).plot(Figure().subplots())
    assert [np.asarray(line.get_ydata()).tolist() for line in axes.lines] == [[1, 2], [9, 9]]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["in training", "greedy evaluation"]


def test_every_number_comes_back_to_the_last_bit() -> None:
    generator = np.random.default_rng(0)
    numbers = generator.normal(size=2000) * 10.0 ** generator.integers(-9, 9, 2000)
    written = io.StringIO(pd.DataFrame({"x": [9.287637776633773e-07, *numbers]}).to_csv(index=False))
    assert read_table(written).x.tolist() == [9.287637776633773e-07, *numbers]
