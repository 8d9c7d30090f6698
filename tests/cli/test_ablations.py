"""The harness: designs, statistics by hand, results that are whole or absent, runs that go on where they were."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ablations.training.workers as runner
from ablations.analysis.stats import interval
from ablations.cli import main
from ablations.design.choice import usable
from ablations.design.designs import DESIGNS, ladder
from ablations.design.flag_sets import flags
from ablations.design.suites import SUITES
from ablations.report.sentences import spoken
from ablations.training import rates
from ablations.training.jobs import Job, result_text
from ablations.training.plan import parse_seeds
from ablations.training.scores import area, late, on_grid
from ablations.training.store import Store
from ablations.training.workers import blocks, run_jobs
from tricks import REINFORCE, Config, InputError, train
from tricks.config import BACKENDS

JOB = Job(Config(seeds=(0, 1), steps=200, lanes=2, horizon=16), REINFORCE)
FEW = ["--steps", "300", "--seeds", "2", "--workers", "2"]


def test_a_job_is_named_by_what_it_computes() -> None:
    same = Job(replace(JOB.config, seeds=2), REINFORCE)
    assert same.key == JOB.key  # a count and the seeds themselves are the same job
    assert Job(replace(JOB.config, lr=0.1), REINFORCE).key != JOB.key


def test_seeds_come_in_fixed_blocks_of_ten() -> None:
    assert blocks(range(5, 23)) == [tuple(range(10)), tuple(range(10, 20)), tuple(range(20, 30))]
    assert parse_seeds("10:12") == (10, 11)
    for text in ("0", "5:5", "a", "3:2", "1001"):
        with pytest.raises(InputError, match="seed"):
            parse_seeds(text)


def test_curves_meet_a_common_grid() -> None:
    curve = pd.DataFrame({"seed": 0, "step": [100, 200, 300, 400], "return": [10.0, np.nan, 30.0, 50.0]})
    grid = on_grid(curve, 400, {})
    assert grid.columns[[0, -1]].tolist() == [4, 400]
    assert grid[200.0].tolist() == [20]  # linear across the update without an episode
    assert grid[4.0].tolist() == [10]
    # 25 points at 10, then up by 20 over 50 points, then by 20 over 25
    rising = 10 + 20 * np.arange(1, 51) / 50
    assert area(grid)[0] == pytest.approx(np.mean([*[10] * 25, *rising, *(30 + 20 * np.arange(1, 26) / 25)]))


def test_the_last_tenth_counts_episodes_not_updates() -> None:
    curve = pd.DataFrame({"seed": 0, "step": [90, 95, 100], "return": [7.0, 10.0, 40.0], "episodes": [9, 2, 1]})
    silent = pd.DataFrame({"seed": 1, "step": [95], "return": [np.nan], "episodes": [0]})
    found = late(pd.concat([curve, silent]), 100, {})
    assert found[0] == (2 * 10 + 40) / 3
    assert np.isnan(found[1])
    assert late(curve, 100, {0: 95})[0] == 7  # diverged: as the untrained agent


def test_a_seed_without_an_episode_is_not_left_out() -> None:
    curve = pd.DataFrame({"seed": [0, 1], "step": [50, 50], "return": [1.0, np.nan]})
    grid = on_grid(curve, 100, {})
    assert grid.index.tolist() == [0, 1]
    assert np.isnan(grid.loc[1]).all()


def test_a_diverged_seed_counts_as_untrained_from_there_on() -> None:
    curve = pd.DataFrame({"seed": 0, "step": [100, 200], "return": [10.0, 90.0]})
    grid = on_grid(curve, 400, {0: 200})
    assert (grid.loc[0, 200.0:] == 10).all()
    assert grid[196.0].min() > 80


def test_an_interval_covers_the_mean_and_needs_five_seeds() -> None:
    rng = np.random.default_rng(0)
    low, high = np.transpose([interval(rng.normal(3.0, 1.0, size=20)) for _ in range(200)])
    covered = np.mean((low <= 3.0) & (high >= 3.0))
    assert 0.88 <= covered <= 0.99  # the percentile bootstrap promises 95% and keeps about 93% at n = 20
    assert np.isnan(interval(np.ones(4))[0])


def test_a_result_is_read_back(tmp_path: Path) -> None:
    store, run = Store(tmp_path), train(JOB.config, JOB.tricks)
    assert store.read(JOB) is None
    store.put(JOB, result_text(JOB, run, 1.0))
    result = store.read(JOB)
    assert result is not None
    pd.testing.assert_frame_equal(result.curve, run.curve, rtol=1e-5)


def test_a_failing_job_stops_no_other_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Job(replace(JOB.config, env="Nonsense-v0"), REINFORCE)
    store = Store(tmp_path)
    failed = run_jobs([broken, JOB], store, workers=1)
    assert list(failed) == [broken]
    assert store.read(JOB) is not None
    assert "Nonsense" in (tmp_path / f"{broken.key}.error.txt").read_text()


def test_the_main_job_ends_in_a_report_and_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*FEW, "--out", str(tmp_path)]
    assert main(arguments) == 0
    first = capsys.readouterr().out
    assert "17 jobs of up to 10 seeds, 0 of them done before" in first
    assert "| + clip_anneal" in first
    place = tmp_path / "ladder_CartPole-v1_300steps"
    made = {path.name: path.read_bytes() for path in place.iterdir()}
    for name in ("effects", "curves_ladder", "solved_ladder"):
        assert {f"{name}.png", f"{name}.svg", f"{name}.csv"} <= set(made)
    assert {"ladder.md", "ladder.csv"} <= set(made)
    assert (tmp_path / "report.html").exists()
    next((tmp_path / "jobs").glob("*.csv")).unlink()
    assert main(arguments) == 0
    assert "17 jobs of up to 10 seeds, 16 of them done before" in capsys.readouterr().out
    for name, content in made.items():
        assert (place / name).read_bytes() == content, name


def test_a_dry_run_says_what_and_how_long_and_trains_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", "--design", "factorial", "--tricks", "baseline,gae", *FEW, "--dry-run", "--out", str(tmp_path)]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "factorial (3 arms); 3 distinct arms × 2 seeds × 300 steps" in said
    assert "dropped: + gae (gae needs baseline)" in said
    assert re.search(r"about \d+ seconds with 2 workers", said)
    assert not list(tmp_path.iterdir())
    assert [spoken(x) for x in (40, 270, 12600)] == ["40 seconds", "4.5 minutes", "3.5 hours"]


def test_ctrl_c_ends_in_one_line_and_loses_no_finished_job(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ablations", "--steps", "1000", "--seeds", "3", "--workers", "1"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not (done := list((tmp_path / "jobs").glob("*.csv"))) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.strip() == "interrupted; finished jobs are kept, and the same command goes on from there"
    assert done
    assert all(path.exists() for path in done)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--design", "ladder,leder"], "unknown design 'leder'"),
        (["run", "--design", "factorial"], "a factorial takes 2 to 5 tricks, not 16: --tricks"),
        (["run", "--tricks", "glue"], "unknown trick glue"),
        (
            ["run", "--suite", "classical"],
            "unknown suite 'classical'; the suites are cartpole, classic, beyond, published, worlds",
        ),
        (["run", "--suite", "classic", "--env", "Pong-v5"], "the suite classic has no 'Pong-v5'; it has CartPole-v1"),
        (["run", "--suite", "worlds", "--env", "CartPole-v1"], "leave out --env"),
        (["report", "--out", "/nonexistent"], "no files of runs (*.runs.csv.gz) in /nonexistent"),
        (["run", "--env", "CartPole-v7"], "Did you mean CartPole-v1?"),
        (["--seeds", "none"], "--seeds must be a count (10) or a range (10:30)"),
        (["--workers", "-1"], "--workers"),
        (["--env", "Blackjack-v1"], "supported are Box and Discrete"),
        (["--step", "5"], "unknown option --step; did you mean --steps?"),
        (["--out", "/dev/null/x"], "cannot write results to /dev/null/x"),
        (["dance"], "unknown command 'dance'"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments: list[str], message: str, refuses: Callable[..., None]) -> None:
    refuses(main, arguments, message)


def test_every_arm_of_the_main_job_has_its_own_tuned_rate_inside_the_grid() -> None:
    scores = rates.table()
    for arm in ladder(list(usable(Config("CartPole-v1")))).arms:
        mine = scores[(scores.env == "CartPole-v1") & (scores.tricks == flags(arm.tricks))]
        assert set(mine.lr) >= set(rates.GRID)
        best = mine.set_index("lr").area.idxmax()
        assert rates.best_rate(Config(), arm.tricks) == (best, "")
        assert rates.best_rate(Config(steps=9), arm.tricks) == (best, "tuned at 100,000 steps")
    assert rates.best_rate(Config(env="Nowhere-v0"), REINFORCE) == (rates.UNTUNED, "not tuned")


@pytest.mark.parametrize("command", ["run", "tune"])
def test_the_help_names_all_that_can_be_asked_for(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = capsys.readouterr().out
    assert all(re.search(rf"\b{re.escape(name)}\b", said) for name in (*SUITES, *DESIGNS, *BACKENDS))


def test_tuning_scores_every_rate_on_seeds_that_are_never_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "TABLE", tmp_path / "rates.csv")
    rates.table.cache_clear()
    arms = [(Config(steps=200), arm.tricks) for arm in ladder(list(usable(Config("CartPole-v1")))).arms[:2]]
    store = Store(tmp_path)
    scores = rates.tune(arms, store, workers=1, seeds=2)
    assert len(scores) == len(arms) * len(rates.GRID)
    assert rates.best_rate(*arms[0])[1] == ""
    trained = rates.tuning_job(*arms[0], 2).config
    assert min(trained.seed_list) >= 1000 > runner.BLOCK
    assert trained.rates == tuple(sorted([*rates.GRID, *rates.GRID]))
    rates.tune(arms[:1], store, workers=1, seeds=1)  # replaces the first arm's scores, and no others
    assert rates.table().groupby("tricks").seeds.unique().map(list).to_dict() == {"": [1], "baseline": [2]}
    rates.table.cache_clear()
