"""Calibration: intervals of normal values cover as they should, what is alike raises few alarms, what is constant is
always covered; and which arms, numbers and options are simulated, by hand."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.studies import study

from ablations.analysis.choosing import choices
from ablations.analysis.estimates import LEVEL, Estimate
from ablations.analysis.studies import SHARES, Study
from ablations.analysis.study_files import save
from ablations.cli import main
from ablations.design.arms import Design
from ablations.design.designs import ladder, leave_one_out
from ablations.design.flag_sets import flags
from ablations.findings import calibration as module
from ablations.findings.calibrate import in_words
from ablations.findings.calibration import SIZES, Population, Tuned, calibration, false_alarms, population, tuned_again

Patch = pytest.MonkeyPatch
DESIGN = leave_one_out(["baseline", "entropy", "grad_clip"])
ONE = replace(DESIGN, comparisons=DESIGN.comparisons[:1])
MADE = study(DESIGN, lambda on: 0)
WITH, WITHOUT = (f"coverage: a difference of tuned arms, {how} the noise of choosing" for how in ("with", "without"))


def normal(seeds: int = 60) -> Study:
    """A study whose arms have normal scores with the same mean, and deviations of 1 and 10."""
    made, rng = study(DESIGN, lambda on: 0, seeds=seeds), np.random.default_rng(0)
    spread = np.where(made.runs.tricks.str.contains("entropy"), 1.0, 10.0)
    score = 200 + spread * rng.normal(size=len(made.runs))
    return replace(made, runs=made.runs.assign(late=score, **dict.fromkeys(SHARES, score)))


def test_intervals_of_normal_values_cover_nineteen_times_in_twenty_and_alarms_are_rare() -> None:
    every, coverage_of_arms = population(normal()), module.coverage_of_arms
    for found in (coverage_of_arms(every, 10, 200), module.coverage_of_differences(every, DESIGN, 10, 400)):
        assert found.mean() == pytest.approx(0.95, abs=0.025)
    assert false_alarms(every, DESIGN, 10, 400) < 0.08
    assert false_alarms(every, DESIGN, 10, 400, alike=True) < 0.08
    assert false_alarms(every, DESIGN, 10, 400, again=True) < 0.01  # rarer if they must be confirmed
    constant = {arm.tricks: np.full(9, float(k)) for k, arm in enumerate(DESIGN.arms)}
    assert coverage_of_arms(constant, 5, 4).tolist() == [1] * len(constant)
    assert module.coverage_of_differences(constant, DESIGN, 5, 4).tolist() == [1] * len(DESIGN.comparisons)


def test_two_rates_that_are_nearly_alike_need_the_noise_of_choosing() -> None:
    rng = np.random.default_rng(0)
    clear = [rng.normal(size=20) * 0.01 + mean for mean in (1.0, -9.0)]
    close = [np.tile([mean - 1, mean + 1], 10) for mean in (0.1, 0.0)]
    sure, unsure = tuned_again(clear, 2000, 300), tuned_again(close, 2000, 300)
    assert set(sure.true) == {clear[0].mean()}
    assert 0.2 < np.mean(unsure.true < 0.05) < 0.5  # the worse rate is often chosen, and 2000 runs tell it apart
    assert module.coverage_of_tuning(unsure, sure, included=False) < 0.6
    assert module.coverage_of_tuning(unsure, sure, included=True) > 0.9


def tuned(*means: float) -> Tuned:
    """An arm whose runs are as its rate's mean says, and nothing else, with a variance of choosing of 0.2."""
    return Tuned(np.array(means), np.full(len(means), 0.2), np.repeat(np.array(means)[:, None], 5, axis=1))


def test_tuned_arms_are_covered_if_both_variances_of_choosing_reach_from_the_draw_to_the_mean() -> None:
    """Differences of −1 and 1 around 0: a deviation of √(2 · 0.2) reaches 1.24."""
    having, without = tuned(-1, 1), tuned(0, 0)
    assert module.coverage_of_tuning(having, without, included=True) == 1
    assert module.coverage_of_tuning(having, without, included=False) == 0
    assert module.coverage_of_tuning(without, without, included=False) == 1


def test_the_best_three_rates_get_a_second_look_of_as_many_seeds_as_the_fewest(monkeypatch: Patch) -> None:
    """Of two rates whose means over n seeds differ by 1.5 deviations, a look at n is wrong in Φ(−1.06) = 14% of all
    draws, and two looks in Φ(−1.5) = 7%."""
    spread = np.tile([-1.0, 1.0], 50)
    found = tuned_again([spread + 0.15, spread], seeds=1, draws=400)
    assert np.mean(found.true < 0.1) == pytest.approx(0.067, abs=0.03)
    looks = list[list[int]]()

    def counted(areas: list[np.ndarray], resamples: int) -> np.ndarray:
        looks.append([len(each) for each in areas])
        return choices(areas, resamples=resamples)

    monkeypatch.setattr(module, "choices", counted)
    tuned_again([np.full(4 + k, mean) for k, mean in enumerate((0.0, 5.0, 4.0, 3.0))], seeds=2, draws=3)
    assert looks == [[4, 8, 8, 8]] * 3


def test_where_all_arms_were_tuned_the_coverage_of_tuning_is_in_the_table(monkeypatch: Patch) -> None:
    rows = pd.DataFrame({"areas": ["190 200 210 180", "1 2 3 4"]})
    monkeypatch.setattr(module, "rows_of", lambda *arm: rows)
    found = calibration(normal(), 4)
    about_tuning = found[found.what.str.contains("tuned")]
    assert ({*about_tuning.what}, about_tuning.seeds.tolist()) == ({WITH, WITHOUT}, [10, 10, 30, 30])
    monkeypatch.setattr(module, "rows_of", lambda *arm: rows.assign(areas=["1 2", ""]))
    assert not calibration(normal(), 4).what.str.contains("tuned").any()


def test_an_arm_of_which_one_seed_has_no_score_is_left_out() -> None:
    first = MADE.runs.tricks.iloc[0]
    late = MADE.runs.late.mask(MADE.runs.tricks.eq(first) & MADE.runs.seed.eq(3))
    broken = replace(MADE, runs=MADE.runs.assign(late=late))
    every = [flags(arm.tricks) for arm in DESIGN.arms]
    assert [flags(tricks) for tricks in population(broken, "late")] == [name for name in every if name != first]
    assert len(population(broken)) == len(every)


@pytest.fixture
def estimates(monkeypatch: Patch) -> Callable[..., list[tuple[set[float], set[float], int, int]]]:
    """Sets what differences are found, as means and p-values in turn; the samples they are asked of are returned."""

    def given(*found: tuple[float, float]) -> list[tuple[set[float], set[float], int, int]]:
        asked = list[tuple[set[float], set[float], int, int]]()

        def unpaired(having: np.ndarray, without: np.ndarray) -> Estimate:
            asked.append(({*having}, {*without}, len(having), len(without)))
            mean, p = found[(len(asked) - 1) % len(found)]
            return Estimate(mean, 0, 0, p)

        monkeypatch.setattr(module, "unpaired", unpaired)
        return asked

    return given


@pytest.mark.parametrize(
    ("design", "how", "found", "alarms"),
    [
        (ONE, {}, [(1, LEVEL)], 0),
        (ONE, {}, [(1, LEVEL / 2)], 1),
        (ONE, {}, [(1, 1e-9), (-1, 1e-9)], 1),  # by default it need not be confirmed
        (ONE, {"again": False}, [(1, 1e-9), (-1, 1e-9)], 1),
        (ONE, {"again": True}, [(1, LEVEL / 2), (1, LEVEL)], 0),
        (ONE, {"again": True}, [(1, LEVEL / 2), (1, LEVEL / 2)], 1),
        (ONE, {"again": True}, [(1, 1e-9), (-1, 1e-9)], 0),  # an effect that turns around
        (DESIGN, {}, [(1, 1e-9), *[(1, 1.0)] * (len(DESIGN.comparisons) - 1)], 1),  # one of them is enough
    ],
)
def test_an_alarm_is_a_p_value_below_the_level(
    design: Design, how: dict[str, bool], found: list[tuple[float, float]], alarms: float, estimates: Callable[..., Any]
) -> None:
    estimates(*found)
    assert false_alarms(population(MADE), design, 5, 1, **how) == alarms


def test_arms_keep_their_own_spread_unless_alike_and_a_shared_one_is_drawn_twice(
    estimates: Callable[..., Any], monkeypatch: Patch
) -> None:
    pair = ONE.comparisons[0]
    every: Population = {pair.having: np.array([4.0, 6.0]), pair.without: np.array([10.0, 30.0])}
    asked = estimates((0, 1))
    for alike, drawn in ((False, ({-1, 1}, {-10, 10})), (True, ({-10, -1, 1, 10},) * 2)):
        asked.clear()
        assert false_alarms(every, ONE, 10, 20, alike=alike) == 0
        assert (set.union(*(each[0] for each in asked)), set.union(*(each[1] for each in asked))) == drawn
    monkeypatch.setattr(Design, "shared", (pair.having,))  # half of the comparisons share it
    asked.clear()
    false_alarms(every, ONE, 10, 20)
    assert {each[2:] for each in asked} == {(20, 10)}


@pytest.fixture
def asked(monkeypatch: Patch) -> dict[str, list[Any]]:
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


def test_each_row_asks_what_it_says_of_comparisons_whose_arms_have_every_score(asked: dict[str, list[Any]]) -> None:
    found = calibration(replace(MADE, runs=MADE.runs.assign(late=7.0)), 2).set_index("what")["mean"]
    assert asked["alarms"] == [{}, {"alike": True}, {"again": True}] * len(SIZES)
    assert set(asked["rows"]) == {("CartPole-v1", 100_000, "", flags(arm.tricks)) for arm in DESIGN.arms}
    assert found["coverage: an arm's last 10%"].tolist() == [7, 7]
    assert found["coverage: an arm's area"].max() < 1  # normalized
    assert (found[WITH].tolist(), found[WITHOUT].tolist()) == ([0.875] * 2, [0.75] * 2)
    asked["differences"].clear()
    calibration(study(two := ladder(["baseline"]), lambda on: 0), 2)
    assert asked["differences"] == [[pair.trick for pair in two.comparisons]] * len(SIZES)  # of all arms that there are
    asked["differences"].clear()
    lost = flags(DESIGN.comparisons[1].without)
    calibration(replace(MADE, runs=MADE.runs.assign(late=MADE.runs.late.mask(MADE.runs.tricks.eq(lost)))), 2)
    kept = [pair.trick for pair in DESIGN.comparisons if lost not in (flags(pair.without), flags(pair.having))]
    assert (asked["differences"], len(kept)) == ([kept] * len(SIZES), len(DESIGN.comparisons) - 1)


def test_the_table_has_a_row_per_question_and_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], refuses: Callable[..., None]
) -> None:
    made, results = normal(), ["calibrate", "--results", str(tmp_path)]
    frame = calibration(made, 5)
    assert set(frame.seeds) == set(SIZES)
    assert list(module.NULLS) == ["arms as they are", "arms alike", "as they are, confirmed"]
    coverage = [f"coverage: {each}" for each in ("an arm's area", "an arm's last 10%", "a difference")]
    assert [*frame.what.unique()] == coverage + [f"false alarms: leave-one-out, {each}" for each in module.NULLS]
    assert frame[["mean", "worst"]].to_numpy().min() >= 0
    assert (frame.worst <= frame["mean"]).all()  # of several coverages the worst is the smallest
    assert (frame.worst < frame["mean"]).any()
    save(made, tmp_path)
    assert main([*results, "--draws", "3", "--out", str(tmp_path / "out")]) == 0
    assert "| false alarms: leave-one-out, arms alike" in capsys.readouterr().out
    assert len(pd.read_csv(tmp_path / "out" / "calibration.csv")) == len(frame)
    fewer = frame[~frame.what.str.contains("area")].assign(env="elsewhere")  # a question not asked everywhere
    lines = in_words(pd.concat([frame, fewer])).splitlines()
    head, _, *rows = ([cell.strip() for cell in row.split("|")] for row in lines)
    assert head[2:5] == ["seeds", made.env, "elsewhere"]
    assert [row[1:3] for row in rows] == [[what, str(seeds)] for what in frame.what.unique() for seeds in SIZES]
    assert all((row[4] == "") == ("area" in row[1]) and row[3] for row in rows)
    (few := tmp_path / "few").mkdir()
    save(study(ladder(["baseline"]), lambda on: 0), few)
    refuses(main, ["calibrate", "--results", str(few)], "no run files (*.runs.csv.gz) with 30 seeds of every arm")
    assert main(["calibrate", "--draws", "0"]) == 2
