"""Worlds: a trial's two arms differ only in the trick, are paired by seed, and run at their own rates."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest

from ablations.analysis import outcomes
from ablations.analysis.studies import COLUMNS
from ablations.analysis.study_files import RESULTS, load_all
from ablations.cli import main
from ablations.design.flag_sets import numbers
from ablations.design.trials import TRIALS, Trial
from ablations.experiments import worlds
from ablations.report import trials_section
from ablations.report.trials_section import caption
from ablations.training import rate_table, rates
from tricks import Config
from tricks.envs.make import make_env
from tricks.ladder import LADDER, NEEDS
from tricks.worlds import SPECIMENS

SHARED = {"functools", *(f"tricks.worlds.{name}" for name in ("cartpole", "walks", "cues", "chance"))}
TRIAL = Trial("baseline", (), Config("tricks/OffsetReward-v0", steps=400, lanes=2, horizon=10), 1, "why")


def test_every_trick_has_a_trial_whose_arms_differ_in_it_alone() -> None:
    assert set(LADDER) <= {trial.trick for trial in TRIALS} <= set(NEEDS)
    for trial in TRIALS:
        assert set(trial.having.on) - set(trial.without.on) == {trial.trick}
        assert set(trial.without.on) <= set(trial.having.on)
        assert (trial.config.lr, trial.config.seeds) == (Config.lr, Config.seeds)  # left to tuning
        make_env(replace(trial.config, seeds=1, lanes=1)).close()
    assert {trial.config.env for trial in TRIALS} | {"tricks/Grid0-v0"} == {"CartPole-v1", *SPECIMENS}


def arm(returns: dict[int, float]) -> outcomes.Side:
    """Runs of an arm with flat curves."""
    facts = [TRIAL.env, 400, "lanes=2 horizon=10", "", 0.1, ""]
    return outcomes.Side(
        pd.DataFrame([[*facts, seed, np.nan, x, *[x] * 100] for seed, x in returns.items()], columns=COLUMNS)
    )


@pytest.mark.parametrize("score", ["area", "late"])
def test_the_difference_is_paired_by_seed(score: Literal["area", "late"]) -> None:
    base = dict(zip(range(6), (10.0, 500.0, 20.0, 900.0, 5.0, 70.0), strict=True))
    trial = replace(TRIAL, score=score)
    up = outcomes.Outcome(trial, arm(base), arm({seed: x + 1 for seed, x in base.items()})).row()
    assert (up["difference"], up["low"], up["high"], up["seen"]) == (1, 1, 1, 1)  # unpaired, it would be lost
    swapped = {seed: base[5 - seed] for seed in base}
    assert outcomes.Outcome(trial, arm(base), arm(swapped)).row()["seen"] == 0
    down = outcomes.Outcome(trial, arm(base), arm({seed: x - 1 for seed, x in base.items()})).row()
    assert down["seen"] == -1


def test_the_command_trains_both_arms_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (worlds, trials_section):
        monkeypatch.setattr(module, "TRIALS", (TRIAL,))
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    rate_table.table.cache_clear()
    arguments = ["worlds", "--seeds", "2", "--workers", "1", "--out", str(tmp_path), "--tune"]
    assert main(arguments) == 0
    scores = rate_table.table()
    assert set(scores.tricks) == {"", "baseline"}
    assert set(scores.numbers) == {"lanes=2 horizon=10"}
    first = (tmp_path / "worlds.csv").read_text()
    frame = pd.read_csv(tmp_path / "worlds.csv")
    assert frame.difference[0] == pytest.approx(
        frame["with"][0] - frame.without[0], abs=1e-3
    )  # as far as it is written
    assert np.isnan(frame.low[0])  # two seeds have no interval
    assert all((tmp_path / f"worlds.{kind}").stat().st_size > 1000 for kind in ("png", "svg"))
    capsys.readouterr()
    assert main(arguments[:-1]) == 0
    assert "2 jobs, 2 of them done before" in capsys.readouterr().out
    assert (tmp_path / "worlds.csv").read_text() == first
    rate_table.table.cache_clear()


def test_numbers_name_what_is_not_the_default_and_what_a_rate_depends_on() -> None:
    assert numbers(Config(env="x", seeds=3, steps=7, lr=0.1, backend="tensor")) == ""
    assert numbers(Config(lanes=16, hidden=(32, 32))) == "lanes=16 hidden=(32,32)"


def test_a_seed_in_which_no_episode_ended_is_not_passed_over() -> None:
    base = {seed: float(seed) for seed in range(6)}
    row = outcomes.Outcome(TRIAL, arm(base), arm(base | {3: np.nan})).row()
    assert np.isnan(row["with"])
    assert row["seen"] == 0
    assert "no episode ended" in caption(pd.DataFrame([row]))


def test_trials_of_one_trick_in_one_world_are_told_apart() -> None:
    places = [(trial.trick, outcomes.place(trial.env, numbers(trial.config))) for trial in TRIALS]
    assert len(set(places)) == len(places)


def test_a_rate_is_chosen_by_the_score_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = ((0.001, 5.0, 1.0), (0.01, 4.0, 2.0), (0.03, 3.0, None))
    rows = [("x", 9, "", "", *score, 8) for score in scores]
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    rate_table.store_table(pd.DataFrame(rows, columns=rate_table.COLUMNS))
    found = [rates.best_rate(Config(env="x", steps=9), TRIAL.without, score)[0] for score in ("area", "late")]
    rate_table.table.cache_clear()
    assert found == [0.001, 0.01]


def test_bad_input_is_one_line(refuses: Callable[..., None]) -> None:
    refuses(main, ["worlds", "--tricks", "glue"], "unknown trick glue; the tricks are baseline,")
    refuses(main, ["worlds", "--tricks", ","], "unknown trick")
    refuses(main, ["worlds", "--tricks", "clip,ppg"], "there is no trial for ppg; the tricks with trials are baseline,")
    refuses(main, ["worlds", "--seeds", "0"], "--seeds must name at least one seed")


def test_every_world_says_in_its_docstring_what_was_seen_in_it() -> None:
    words = {1: "better with", 0: "no detectable effect", -1: "worse with"}
    seen: dict[str, set[tuple[str, str]]] = {}
    for row in (found.row() for found in outcomes.outcomes(load_all(RESULTS))):
        if row["world"] in SPECIMENS:
            world = SPECIMENS[row["world"]]
            (module,) = {f.__module__ for f in (world.initial, world.dynamics, world.observe)} - SHARED
            seen.setdefault(module, set()).add((row["trick"], words[row["seen"]]))
    for module, verdicts in seen.items():
        doc = " ".join((sys.modules[module].__doc__ or "").split())
        said = doc.split("Seen on seeds 0 to 9: ")[1]
        assert set(re.findall(rf"(\w+)(?: at [^;,]+?)?,? ({'|'.join(words.values())})", said)) == verdicts, module
