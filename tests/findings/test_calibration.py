"""Calibration: intervals of normal values cover as they should, and what is alike raises few alarms."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.studies import study

from ablations.analysis.choosing import choices
from ablations.analysis.estimates import Estimate
from ablations.analysis.studies import SHARES, Study
from ablations.analysis.study_files import save
from ablations.cli import main
from ablations.design.arms import Design
from ablations.design.designs import ladder, leave_one_out
from ablations.findings import calibration as module
from ablations.findings.calibrate import in_words
from ablations.findings.calibration import (
    SIZES,
    calibration,
    coverage_of_arms,
    coverage_of_differences,
    coverage_of_tuning,
    false_alarms,
    population,
    tuned_again,
)

DESIGN = leave_one_out(["baseline", "entropy", "grad_clip"])


def normal(seeds: int = 60) -> Study:
    """A study whose arms have normal scores with the same mean, and deviations of 1 and 10."""
    made, rng = study(DESIGN, lambda on: 0, seeds=seeds), np.random.default_rng(0)
    spread = np.where(made.runs.tricks.str.contains("entropy"), 1.0, 10.0)
    score = 200 + spread * rng.normal(size=len(made.runs))
    return replace(made, runs=made.runs.assign(late=score, **dict.fromkeys(SHARES, score)))


def test_intervals_of_normal_values_cover_nineteen_times_in_twenty() -> None:
    every = population(normal())
    for found in (coverage_of_arms(every, 10, 200), coverage_of_differences(every, DESIGN, 10, 400)):
        assert found.mean() == pytest.approx(0.95, abs=0.025)


def test_alarms_are_rare_where_nothing_differs_and_rarer_if_they_must_be_confirmed() -> None:
    every = population(normal())
    assert false_alarms(every, DESIGN, 10, 400) < 0.08
    assert false_alarms(every, DESIGN, 10, 400, alike=True) < 0.08
    assert false_alarms(every, DESIGN, 10, 400, again=True) < 0.01


def test_two_rates_that_are_nearly_alike_need_the_noise_of_choosing() -> None:
    rng = np.random.default_rng(0)
    clear = [rng.normal(size=20) * 0.01 + mean for mean in (1.0, -9.0)]
    close = [np.tile([mean - 1, mean + 1], 10) for mean in (0.1, 0.0)]
    sure, unsure = tuned_again(clear, 2000, 300), tuned_again(close, 2000, 300)
    assert set(sure.true) == {clear[0].mean()}
    assert 0.2 < np.mean(unsure.true < 0.05) < 0.5  # the worse rate is often chosen, and 2000 runs tell it apart
    assert coverage_of_tuning(unsure, sure, included=False) < 0.6
    assert coverage_of_tuning(unsure, sure, included=True) > 0.9


def test_the_best_three_rates_get_a_second_look_and_the_choice_is_made_on_both() -> None:
    """Of two rates whose means over n seeds differ by 1.5 deviations, a look at n is wrong in Φ(−1.06) = 14% of all
    draws, and two looks in Φ(−1.5) = 7%."""
    spread = np.tile([-1.0, 1.0], 50)
    found = tuned_again([spread + 0.15, spread], seeds=1, draws=400)
    assert np.mean(found.true < 0.1) == pytest.approx(0.067, abs=0.03)


def test_every_rate_is_looked_at_with_as_many_seeds_as_the_one_with_the_fewest_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = list[list[int]]()

    def counted(areas: list[np.ndarray], resamples: int) -> np.ndarray:
        looks.append([len(each) for each in areas])
        return choices(areas, resamples=resamples)

    monkeypatch.setattr(module, "choices", counted)
    means = (0.0, 5.0, 4.0, 3.0)
    tuned_again([np.full(4 + k, mean) for k, mean in enumerate(means)], seeds=2, draws=3)
    assert looks == [[4, 8, 8, 8]] * 3  # the best three are looked at twice


def test_where_all_arms_were_tuned_the_coverage_of_tuning_is_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pd.DataFrame({"areas": ["190 200 210 180", "1 2 3 4"]})
    monkeypatch.setattr(module, "rows_of", lambda *arm: rows)
    found = calibration(normal(), 4)
    tuned = found[found.what.str.contains("tuned")]
    assert {*tuned.what} == {
        f"coverage: a difference of tuned arms, {how} the noise of choosing" for how in ("with", "without")
    }
    assert tuned.seeds.tolist() == [10, 10, 30, 30]
    monkeypatch.setattr(module, "rows_of", lambda *arm: rows.assign(areas=["1 2", ""]))
    assert not calibration(normal(), 4).what.str.contains("tuned").any()


def alarms(monkeypatch: pytest.MonkeyPatch, second: float, again: bool) -> tuple[float, list[tuple[int, int]]]:
    """How often a design of one comparison raises an alarm if every difference is seen, 1 at first and then `second`.

    Also the sizes of the samples, of those with the trick and of those without.
    """
    sizes, design = list[tuple[int, int]](), replace(DESIGN, comparisons=DESIGN.comparisons[:1])

    def unpaired(having: np.ndarray, without: np.ndarray) -> Estimate:
        sizes.append((len(having), len(without)))
        return Estimate(1.0 if len(sizes) % 2 else second, 0, 0, 1e-9)

    monkeypatch.setattr(module, "unpaired", unpaired)
    return false_alarms(population(study(DESIGN, lambda on: 0)), design, 10, 20, again=again), sizes


def test_an_effect_that_turns_around_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert alarms(monkeypatch, 1.0, again=True)[0] == 1
    assert alarms(monkeypatch, -1.0, again=True)[0] == 0
    assert alarms(monkeypatch, -1.0, again=False)[0] == 1  # either is one by itself


def test_an_arm_that_half_of_the_comparisons_share_is_drawn_twice_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Design, "shared", (DESIGN.comparisons[0].having,))
    assert set(alarms(monkeypatch, 1.0, again=False)[1]) == {(20, 10)}


def test_of_several_coverages_the_worst_is_the_smallest() -> None:
    frame = calibration(normal(), 5)
    assert (frame.worst <= frame["mean"]).all()
    assert (frame.worst < frame["mean"]).any()


def test_the_table_has_a_row_per_question_and_number_of_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = normal()
    frame = calibration(made, 5)
    assert set(frame.seeds) == set(SIZES)
    asked = ["an arm's area", "an arm's last 10%", "a difference"]
    nulls = ["arms as they are", "arms alike", "as they are, confirmed"]
    assert [*frame.what.unique()] == [
        *(f"coverage: {each}" for each in asked),
        *(f"false alarms: leave-one-out, {each}" for each in nulls),
    ]
    assert frame[["mean", "worst"]].to_numpy().min() >= 0
    save(made, tmp_path)
    arguments = ["calibrate", "--draws", "3", "--results", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    assert "| false alarms: leave-one-out, arms alike" in capsys.readouterr().out
    assert len(pd.read_csv(tmp_path / "out" / "calibration.csv")) == len(frame)
    fewer = frame[~frame.what.str.contains("area")].assign(env="elsewhere")  # a question not asked everywhere
    head, _, *rows = (
        [cell.strip() for cell in row.split("|")] for row in in_words(pd.concat([frame, fewer])).splitlines()
    )
    assert head[2:5] == ["seeds", made.env, "elsewhere"]
    assert [row[1:3] for row in rows] == [[what, str(seeds)] for what in frame.what.unique() for seeds in SIZES]
    assert all((row[4] == "") == ("area" in row[1]) and row[3] for row in rows)


def test_too_few_stored_seeds_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(study(ladder(["baseline"]), lambda on: 0), tmp_path)
    assert main(["calibrate", "--results", str(tmp_path)]) == 2
    assert "no run files (*.runs.csv.gz) with 30 seeds of every arm" in capsys.readouterr().err
    assert main(["calibrate", "--draws", "0"]) == 2
