"""Agents in the page learn as fast as the library's, whose stored runs have the same setting and other chances."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.browsing import Browser
from support.replayed import write_page

from ablations import interval
from ablations.training.scores import on_grid
from chapters.book.results import beyond, studies
from chapters.book.site.playground import ENGINE
from tricks import PPO, REINFORCE, Config, train
from tricks.ladder import named

COMPARED = (
    *("step", "episodes", "return", "policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "max_ratio"),
    *("explained_variance", "grad_norm"),
)
ARMS = {"reinforce": REINFORCE, "baseline": named("baseline"), "clip": named("clip"), "ppo": PPO}


def curve(engine: Browser, **setting: Any) -> pd.DataFrame:
    """Seed, whether it diverged, and the columns to compare: a row for each update."""
    names = ["seed", "diverged", *COMPARED]
    engine.open("index.html")
    engine.run("learning(...arguments)", setting, names)
    engine.wait_for("body[data-over]", seconds=3600)  # in small questions: the driver waits two minutes for an answer
    over, rows = engine.run("return learned()")
    assert over == "end"
    return pd.DataFrame(rows, columns=names, dtype=float)


def test_ten_agents_of_reinforce_reach_200(engine: Browser) -> None:
    found = curve(engine, numbers={"lr": 0.01, "steps": 40_000}, seeds=10)
    late = found[found.step > 30_000].groupby("seed")["return"].mean()
    assert len(late) == 10
    assert late.mean() > 200


def test_the_first_updates_of_a_hundred_agents_are_as_the_library_s_on_average(engine: Browser) -> None:
    """Here all chances differ, which play and shuffle; what follows from them is held to the library elsewhere."""
    numbers = {"lr": 0.03, "steps": 2000}
    theirs = train(Config("CartPole-v1", seeds=100, **numbers), ARMS["clip"]).curve  # type: ignore[arg-type]
    mine = curve(engine, tricks=ARMS["clip"].on, numbers=numbers, seeds=100, hidden=[64, 64])
    for update in range(2):
        a, b = (rows.groupby("seed").nth(update)[list(COMPARED)].to_numpy(float) for rows in (mine, theirs))
        assert len(a) == len(b) == 100
        spread = np.hypot(a.std(0), b.std(0)) / 100**0.5
        assert (abs(a.mean(0) - b.mean(0)) < 4 * spread).all(), f"update {update}: {a.mean(0)}, not {b.mean(0)}"


def test_the_benchmark_page_measures_the_engine(driver: Any, tmp_path: Path) -> None:
    (tmp_path / "playground").mkdir()
    for name in ("benchmark.html", "benchmark.js"):
        shutil.copy(ENGINE / name, tmp_path / "playground")
    write_page(tmp_path)
    (tmp_path / "engine.js").rename(tmp_path / "playground-engine.js")
    browser = Browser(driver, tmp_path)
    browser.open("playground/benchmark.html?steps=1")
    browser.wait_for("body[data-told]")
    told = json.loads(browser.run("return document.body.dataset.told"))
    assert browser.complaints() == []
    assert len(told) == 6
    assert min(told.values()) > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_the_means_of_sixty_agents_differ_from_the_library_s_by_chance_alone(engine: Browser, name: str) -> None:
    """Two means are compared, so the interval is that of their difference.

    Points of a curve go together: of two groups of thirty of the library's own agents, one pair in eleven fails this.
    """
    tricks = ARMS[name]
    study = next(each for each in [*studies(), *beyond()] if each.env == "CartPole-v1" and len(each.of(tricks)))
    rate = float(study.of(tricks).lr.iloc[0])
    found = curve(engine, tricks=tricks.on, numbers={"lr": rate, "steps": study.steps}, seeds=60, hidden=[64, 64])
    diverged = {int(row.seed): int(row.step) for row in found[found.diverged > 0].itertuples()}  # type: ignore[arg-type]
    mine = on_grid(found, study.steps, diverged).to_numpy()[:, 9::10]
    theirs = study.grid(tricks).to_numpy()[:, 9::10]
    (low, high), (mine_low, mine_high) = interval(theirs), interval(mine)
    inside = (low <= mine.mean(0)) & (mine.mean(0) <= high)
    print(f"{name}: {inside.sum()} of 10 points are within the library's own interval")
    off = mine.mean(0) - theirs.mean(0)
    assert (2 * abs(off) <= np.hypot(high - low, mine_high - mine_low)).sum() >= 9
