"""What a run looks like: one line at a prompt, a small table and its curve in a notebook, axes on request."""

import base64
import re
import subprocess
import sys
from dataclasses import replace

import matplotlib.pyplot as plt
import pytest

from tricks import CONTINUOUS, EVERY, PPO, REINFORCE, Config, Run, Tricks, train
from tricks.cli.parsing import parse
from tricks.ladder import rungs, switched
from tricks.runs.shown import rows, rung

TINY = Config("ShortCartPole-v0", seeds=5, steps=600, lanes=4, horizon=16, hidden=(8,))


@pytest.fixture(scope="module")
def run() -> Run:
    return train(TINY, replace(PPO, gae=False))


def test_a_run_is_one_short_line(run: Run) -> None:
    assert re.fullmatch(
        r"<Run: ppo --no-gae, ShortCartPole-v0, 5 seeds × 600 steps; return over the last 10%: "
        r"\d+\.\d, 95% interval \[\d+\.\d, \d+\.\d\] \(Student's t over 5 seeds\)>",
        repr(run),
    )
    assert "1 seed × 600 steps" in repr(run.only(3))


def test_the_table_names_the_numbers_that_are_not_the_usual_ones(run: Run) -> None:
    assert rows(run)["numbers"] == "lanes=4, horizon=16, hidden=(8,)"
    assert rows(run)["seeds"] == "5"
    assert "diverged" not in rows(run)
    lost = replace(run, diverged={2: 1500}, reasons={2: "the loss"})
    assert rows(lost)["diverged"] == "seed 2 at step 1,500"
    assert "numbers" not in rows(replace(run, config=replace(Config(seeds=5, steps=600), env="ShortCartPole-v0")))


def test_a_run_in_which_no_episode_ended_late_says_so(run: Run) -> None:
    rest = replace(run, curve=run.curve.assign(episodes=0))
    assert "no episode ended there" in repr(rest)
    assert "no episode ended there" in rest._repr_html_()


def test_a_notebook_shows_the_table_and_a_picture(run: Run) -> None:
    page = run._repr_html_()
    assert page.count("<tr>") == len(rows(run))
    assert "<td" in page.split("ppo --no-gae")[0]
    (picture,) = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    assert base64.b64decode(picture).startswith(b"\x89PNG")


def test_what_a_table_shows_is_no_markup(run: Run) -> None:
    odd = replace(run, config=replace(run.config, env="<b>&"))
    assert "&lt;b&gt;&amp;" in odd._repr_html_()


@pytest.mark.parametrize(
    ("tricks", "said"),
    [
        (REINFORCE, "reinforce"),
        (Tricks(baseline=True), "reinforce --baseline"),
        (replace(PPO, gae=False, state_norm=True), "ppo --no-gae --state-norm"),
        (EVERY, "every"),
        (CONTINUOUS, "continuous"),
    ],
)
def test_a_rung_is_told_by_the_nearest_preset(tricks: Tricks, said: str) -> None:
    assert rung(tricks) == said


@pytest.mark.parametrize("tricks", [*rungs(), switched(["baseline", "entropy"])], ids=rung)
def test_the_command_line_takes_it_and_means_the_same(tricks: Tricks) -> None:
    assert parse(rung(tricks).split(), "train")[0] == tricks


def test_plot_draws_on_the_axes_that_it_is_given_or_on_new_ones(run: Run) -> None:
    plt.switch_backend("Agg")
    axes = plt.figure().subplots()
    assert run.plot(axes) is axes
    other = run.plot()
    assert other is plt.gca()
    assert len(axes.lines) == len(other.lines) == 1
    assert axes.get_title(loc="left") == "ShortCartPole-v0: mean and 95% interval over 5 seeds"
    plt.close("all")


def test_matplotlib_is_loaded_when_something_is_drawn_and_not_before() -> None:
    code = "import sys; from tricks import PPO, Config, train; repr(train(Config(seeds=1, steps=200), PPO))"
    code += "; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
