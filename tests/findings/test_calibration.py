"""Calibration: intervals cover as they should. Speed: what is measured, and beside whom."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.fixtures import Capture, Refuses, Told
from support.studies import study

from ablations.analysis.records import SHARES, Study, save
from ablations.cli import main
from ablations.question.designs import ladder, leave_one_out
from ablations.tools import calibrate as module
from ablations.tools.calibrate import SIZES, TunedArm, calibration, false_alarms, population, tuned_again

DESIGN = leave_one_out(["baseline", "entropy", "grad_clip"])


def normal(seeds: int = 60) -> Study:
    """A study whose arms have normal scores with the same mean, and deviations of 1 and 10."""
    made, rng = study(DESIGN, lambda on: 0, seeds=seeds), np.random.default_rng(0)
    spread = np.where(made.runs.tricks.str.contains("entropy"), 1.0, 10.0)
    score = 200 + spread * rng.normal(size=len(made.runs))
    return replace(made, runs=made.runs.assign(late=score, **dict.fromkeys(SHARES, score)))


def test_intervals_of_normal_values_cover_nineteen_times_in_twenty_and_alarms_are_rare() -> None:
    every, coverage_of_arms = population(normal(), "score"), module.coverage_of_arms
    for found in (coverage_of_arms(every, 10, 200), module.coverage_of_differences(every, DESIGN, 10, 400)):
        assert np.mean(found) == pytest.approx(0.95, abs=0.025)
    plain, alike, confirmed = (false_alarms(every, DESIGN, 10, 400, *how) for how in module.NULLS.values())
    assert plain < 0.08 and alike < 0.08 and confirmed < 0.01  # rarer if they must be confirmed
    constant = {arm: np.full(9, float(k)) for k, arm in enumerate(DESIGN.arms)}
    assert coverage_of_arms(constant, 5, 4) == [1] * len(constant)
    assert module.coverage_of_differences(constant, DESIGN, 5, 4) == [1] * len(DESIGN.comparisons)


def test_of_ten_ideas_that_do_nothing_one_stands_in_a_session_of_twenty_and_wrong_verdicts_share_a_base() -> None:
    every = population(normal(), "score")
    shared, fresh = (module.sessions(every, 10, 300, own) for own in (False, True))
    assert max(shared["one that stands"], fresh["one that stands"]) < 0.09
    assert fresh["a verdict"] > 0.25 and fresh["three or more"] < 0.03 < shared["three or more"]


def test_tuned_arms_are_covered_by_both_variances_of_choosing_which_two_like_rates_need() -> None:
    rng = np.random.default_rng(0)
    clear = [rng.normal(size=20) * 0.01 + mean for mean in (1.0, -9.0)]
    close = [np.tile([mean - 1, mean + 1], 10) for mean in (0.1, 0.0)]
    sure, unsure = tuned_again(clear, 2000, 300), tuned_again(close, 2000, 300)
    assert set(sure.true) == {clear[0].mean()}
    assert 0.2 < np.mean(unsure.true < 0.05) < 0.5  # the worse rate is often chosen, and 2000 runs tell it apart
    assert module.coverage_of_tuning(unsure, sure, included=False) < 0.6
    assert module.coverage_of_tuning(unsure, sure, included=True) > 0.9
    # differences of −1 and 1 around 0: a deviation of √(2 · 0.2) reaches 1.24.
    having, without = tuned(-1, 1), tuned(0, 0)
    assert module.coverage_of_tuning(having, without, included=True) == 1
    assert module.coverage_of_tuning(having, without, included=False) == 0
    assert module.coverage_of_tuning(without, without, included=False) == 1


def tuned(*means: float) -> TunedArm:
    """An arm whose runs are as its rate's mean says, and nothing else, with a variance of choosing of 0.2."""
    return TunedArm(np.array(means), np.full(len(means), 0.2), np.repeat(np.array(means)[:, None], 5, axis=1))


def test_the_table_has_a_row_per_question_and_size(tmp_path: Path, capsys: Capture, refuses: Refuses) -> None:
    made, results = normal(), ["calibrate", "--results", str(tmp_path)]
    frame = calibration(made, 5)
    assert set(frame.seeds) == set(SIZES)
    assert (frame.worst <= frame["mean"]).all()  # of several coverages the worst is the smallest
    broken = replace(made, runs=made.runs.assign(late=made.runs.late.mask(made.runs.index == 3)))
    assert len(population(broken, "late")) == len(population(broken, "score")) - 1  # an arm without a score is left out
    save(made, tmp_path)
    assert main([*results, "--draws", "3", "--out", str(tmp_path / "out")]) == 0
    assert "| false alarms: leave-one-out, arms alike" in capsys.readouterr().out
    assert len(pd.read_csv(tmp_path / "out" / "calibration.csv")) == len(frame)
    (few := tmp_path / "few").mkdir()
    save(study(ladder(["baseline"]), lambda on: 0), few)
    refuses(main, ["calibrate", "--results", str(few)], "no run files (*.runs.csv.gz) with 30 seeds of every arm")


def test_a_table_has_a_row_per_backend_and_size_and_a_ratio_to_the_peer(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("stable_baselines3")
    path, few = tmp_path / "new" / "speed.csv", ["--backends", "tensor,gymnasium", "--seeds", "1,3", "--steps", "100"]
    assert main(["speed", *few, "--against", "sb3", "--out", str(path)]) == 0
    said, frame = capsys.readouterr().out, pd.read_csv(path)
    assert frame.backend.tolist() == ["tensor", "tensor", "gymnasium", "gymnasium", "gymnasium"]
    assert frame.seeds.tolist() == [1, 3, 1, 3, 1]
    assert (frame.megabytes > 50).all()
    assert said.count("| tricks ") == 4 and "| × sb3 |\n" in said


def test_each_stack_is_measured_plainly_too(told: Told) -> None:
    said = told("speed --backends tensor --seeds 2 --steps 100 --plain", main=main)
    assert "tensor cpu plain S=2: " in said and said.count("| plain ") == 1
    assert "without what numba compiles" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "0"], "--seeds must be stack sizes of at least 1, such as 1,10,100, not '0'"),
        (["--backends", "toaster"], "unknown backend 'toaster'"),
        (["--device", "meta"], "no device 'meta'"),
        (["--against", "toaster"], "unknown peer 'toaster'; the only one is sb3"),
        (["--rung", "clip", "--against", "sb3"], "--against sb3 needs --rung ppo, not clip"),
        (["--out", "/tmp"], "--out must be a file, but /tmp is a folder"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, refuses: Refuses) -> None:
    refuses(main, ["speed", *arguments], message)
