"""Calibration by hand: what is constant is always covered, and which arms, numbers and options are simulated."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.studies import study

from ablations.analysis.estimates import LEVEL, Estimate
from ablations.design.arms import Design
from ablations.design.designs import ladder, leave_one_out
from ablations.design.flag_sets import flags
from ablations.findings import calibration as module
from ablations.findings.calibration import (
    NULLS,
    SIZES,
    Population,
    Tuned,
    calibration,
    coverage_of_arms,
    coverage_of_differences,
    coverage_of_tuning,
    false_alarms,
    population,
)

DESIGN = leave_one_out(["baseline", "entropy", "grad_clip"])
ONE = replace(DESIGN, comparisons=DESIGN.comparisons[:1])
MADE = study(DESIGN, lambda on: 0)
Seen = Callable[[Estimate], None]


def test_what_never_varies_is_always_covered() -> None:
    every = {arm.tricks: np.full(9, float(k)) for k, arm in enumerate(DESIGN.arms)}
    assert coverage_of_arms(every, 5, 4).tolist() == [1] * len(every)
    assert coverage_of_differences(every, DESIGN, 5, 4).tolist() == [1] * len(DESIGN.comparisons)


def arm(*means: float, variance: float) -> Tuned:
    """An arm whose runs are as its rate's mean says, and nothing else."""
    return Tuned(np.array(means), np.full(len(means), variance), np.repeat(np.array(means)[:, None], 5, axis=1))


def test_tuned_arms_are_covered_if_both_variances_of_choosing_reach_from_the_draw_to_the_mean() -> None:
    """Differences of −1 and 1 around 0: a deviation of √(2 · 0.2) reaches 1.24."""
    having, without = arm(-1, 1, variance=0.2), arm(0, 0, variance=0.2)
    assert coverage_of_tuning(having, without, included=True) == 1
    assert coverage_of_tuning(having, without, included=False) == 0
    assert coverage_of_tuning(without, without, included=False) == 1


def test_an_arm_of_which_one_seed_has_no_score_is_left_out() -> None:
    first = MADE.runs.tricks.iloc[0]
    broken = MADE.runs.assign(late=MADE.runs.late.mask(MADE.runs.tricks.eq(first) & MADE.runs.seed.eq(3)))
    kept = population(replace(MADE, runs=broken), "late")
    assert [flags(tricks) for tricks in kept] == [
        flags(arm.tricks) for arm in DESIGN.arms if flags(arm.tricks) != first
    ]
    assert len(population(replace(MADE, runs=broken))) == len(DESIGN.arms)


def test_arms_keep_their_own_spread_unless_they_are_to_be_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = ONE.comparisons[0]
    every: Population = {pair.having: np.array([4.0, 6.0]), pair.without: np.array([10.0, 30.0])}
    drawn: dict[str, set[float]] = {}

    def unpaired(having: np.ndarray, without: np.ndarray) -> Estimate:
        drawn["having"] = drawn.get("having", set()) | {*having}
        drawn["without"] = drawn.get("without", set()) | {*without}
        return Estimate(0, 0, 0, 1)

    monkeypatch.setattr(module, "unpaired", unpaired)
    assert false_alarms(every, ONE, 10, 20) == 0
    assert drawn == {"having": {-1, 1}, "without": {-10, 10}}
    assert false_alarms(every, ONE, 10, 20, alike=True) == 0
    assert drawn == {key: {-10, -1, 1, 10} for key in ("having", "without")}


@pytest.mark.parametrize(
    ("design", "again", "found", "alarms"),
    [
        (ONE, False, [(1, LEVEL)], 0),
        (ONE, False, [(1, LEVEL / 2)], 1),
        (ONE, True, [(1, LEVEL / 2), (1, LEVEL)], 0),
        (ONE, True, [(1, LEVEL / 2), (1, LEVEL / 2)], 1),
        (DESIGN, False, [(1, 1e-9), *[(1, 1.0)] * (len(DESIGN.comparisons) - 1)], 1),  # one of them is enough
    ],
)
def test_an_alarm_is_any_p_value_below_the_level(
    monkeypatch: pytest.MonkeyPatch, design: Design, again: bool, found: list[tuple[float, float]], alarms: float
) -> None:
    queue = [Estimate(mean, 0, 0, p) for mean, p in found]
    monkeypatch.setattr(module, "unpaired", lambda *samples: queue.pop(0))
    assert false_alarms(population(MADE), design, 5, 1, again=again) == alarms


def test_by_default_an_alarm_need_not_be_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = [Estimate(1, 0, 0, 1e-9), Estimate(-1, 0, 0, 1e-9)]
    monkeypatch.setattr(module, "unpaired", lambda *samples: queue.pop(0))
    assert false_alarms(population(MADE), ONE, 5, 1) == 1


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """What `calibration` asks for, with answers that take no time."""
    said: dict[str, list[Any]] = {"alarms": [], "rows": [], "differences": []}

    def alarms(every: Population, design: Design, seeds: int, draws: int, **how: bool) -> float:
        said["alarms"].append(how)
        return 0.25

    def rows(*where: object) -> pd.DataFrame:
        said["rows"].append(where)
        return pd.DataFrame({"areas": ["1 2 3 4", "5 6 7 8"]})

    def differences(every: Population, design: Design, seeds: int, draws: int) -> np.ndarray:
        said["differences"].append([pair.trick for pair in design.comparisons])
        return np.ones(1)

    monkeypatch.setattr(module, "false_alarms", alarms)
    monkeypatch.setattr(module, "rows_of", rows)
    monkeypatch.setattr(module, "coverage_of_differences", differences)
    monkeypatch.setattr(module, "coverage_of_arms", lambda every, *_: np.array([x.mean() for x in every.values()]))
    monkeypatch.setattr(module, "coverage_of_tuning", lambda having, without, included: 0.75 + 0.125 * included)
    return said


def test_each_row_of_the_table_asks_what_it_says(asked: dict[str, list[Any]]) -> None:
    found = calibration(replace(MADE, runs=MADE.runs.assign(late=7.0)), 2).set_index("what")["mean"]
    assert asked["alarms"] == [{}, {"alike": True}, {"again": True}] * len(SIZES)
    assert list(NULLS) == ["arms as they are", "arms alike", "as they are, confirmed"]
    assert set(asked["rows"]) == {("CartPole-v1", 100_000, "", flags(arm.tricks)) for arm in DESIGN.arms}
    assert found["coverage: an arm's last 10%"].tolist() == [7, 7]
    assert found["coverage: an arm's area"].max() < 1  # normalized
    assert found["coverage: a difference of tuned arms, with the noise of choosing"].tolist() == [0.875] * 2
    assert found["coverage: a difference of tuned arms, without the noise of choosing"].tolist() == [0.75] * 2


def test_comparisons_count_whose_arms_have_every_score(asked: dict[str, list[Any]]) -> None:
    calibration(study(two := ladder(["baseline"]), lambda on: 0), 2)
    assert asked["differences"] == [[pair.trick for pair in two.comparisons]] * len(SIZES)  # of all arms that there are
    asked["differences"].clear()
    lost = flags(DESIGN.comparisons[1].without)
    calibration(replace(MADE, runs=MADE.runs.assign(late=MADE.runs.late.mask(MADE.runs.tricks.eq(lost)))), 2)
    kept = [pair.trick for pair in DESIGN.comparisons if lost not in (flags(pair.without), flags(pair.having))]
    assert asked["differences"] == [kept] * len(SIZES)
    assert len(kept) == len(DESIGN.comparisons) - 1
