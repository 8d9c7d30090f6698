"""A trial's row by hand: its means and rates, what is not known of it, and the margin of no effect."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.one_trial import TRIAL, arm, outcome_of

from ablations.analysis import outcomes
from ablations.analysis.estimates import LEVEL
from ablations.analysis.outcomes import Outcome, Side
from ablations.training.rates import FIXED

BASE = {seed: float(seed) for seed in range(6)}
TENTHS = [0.0, 0.2, -0.2, 0.1, -0.1, 0.0]


def found(having: dict[int, float], without: dict[int, float] = BASE) -> Outcome:
    return Outcome(TRIAL, TRIAL.doses[-1], arm(without), arm(having))


def test_a_row_has_the_means_of_both_arms_and_counts_every_run_that_diverged() -> None:
    having, without = arm({seed: 2 * x for seed, x in BASE.items()}).runs, arm(BASE).runs
    having = having.assign(lr=0.3, diverged=[1, np.nan, 5, 7, np.nan, np.nan])
    row = Outcome(TRIAL, TRIAL.doses[-1], Side(without.assign(diverged=[3.0] * 6)), Side(having)).row()
    assert (row["without"], row["with"], row["lr_without"], row["lr_with"]) == (2.5, 5, 0.1, 0.3)
    assert (row["diverged"], row["seeds"]) == (9, 6)


def test_a_mean_or_a_share_of_which_one_seed_has_no_score_is_not_known() -> None:
    row = found(BASE, BASE | {3: np.nan}).row()
    assert np.isnan([row["without"], row["difference"]]).all()
    assert (row["with"], row["doses"]) == (2.5, "1:+nan")


def test_an_arm_of_a_single_seed_has_a_rate_and_a_curve() -> None:
    alone = arm({7: 3.0})
    assert alone.lr == 0.1
    curve = alone.grid(400)
    assert (curve.index.tolist(), curve.columns[-1], set(curve.loc[7])) == ([7], 400, {3.0})


def test_an_arm_whose_choice_is_not_known_adds_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    draws: dict[str, np.ndarray | None] = {"": None, "baseline": np.array([0.5, -0.5, 1.5])}
    monkeypatch.setattr(outcomes, "chosen_means", lambda env, steps, given, tricks, lr: draws[tricks])
    assert found(BASE).choice_noise.tolist() == [0.5, -0.5, 1.5]
    draws["baseline"] = None
    assert found(BASE).choice_noise.tolist() == [0]


@pytest.mark.parametrize(
    ("differences", "small"),
    [
        ([0.04] * 6, True),
        ([-0.04] * 6, True),
        ([TRIAL.margin] * 6, False),
        ([-TRIAL.margin] * 6, False),
        ([x - 0.1 for x in TENTHS], False),  # from below the margin to within it
        ([x + 0.1 for x in TENTHS], False),
    ],
)
def test_small_is_an_interval_whose_ends_are_both_within_the_margin(differences: list[float], small: bool) -> None:
    trial = replace(TRIAL, predicted=0, score="late")
    row = outcome_of(trial, dict.fromkeys(range(6), 0.0), dict(enumerate(differences)))
    assert row["small"] == small


def test_an_adjusted_p_value_at_the_level_is_nothing_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    up: Any = found({seed: x + 1 for seed, x in BASE.items()})
    assert outcomes.trial_table([up]).seen.tolist() == [1]
    monkeypatch.setattr(outcomes, "holm", lambda p: np.full(len(p), LEVEL))
    assert outcomes.trial_table([up]).seen.tolist() == [0]


def test_of_a_seed_that_is_there_twice_the_first_run_counts() -> None:
    runs = pd.concat([arm(BASE).runs, arm(BASE).runs.assign(tricks="baseline")])
    later = arm({seed: x + 9 for seed, x in BASE.items()}).runs.assign(tuned="tuned at 9 steps")
    trial = outcomes.outcome(TRIAL, pd.concat([runs, later, later.assign(tricks="baseline", tuned=FIXED)]))
    assert trial is not None
    assert (len(trial.without.runs), trial.differences.tolist()) == (6, [0] * 6)
