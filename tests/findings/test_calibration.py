"""Calibration: intervals cover as they should. Games: their scores in words. Speed: measuring changes nothing."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.fixtures import Capture, Patch, Refuses
from support.studies import study

from ablations.analysis.records import SHARES, Study, save
from ablations.analysis.stats import LEVEL, Estimate
from ablations.cli import main
from ablations.question.arms import Design, flags
from ablations.question.designs import ladder, leave_one_out
from ablations.tools import calibrate as module
from ablations.tools.calibrate import SIZES, TunedArm, calibration, false_alarms, in_words, population, tuned_again
from ablations.tools.games import games_in_words
from ablations.tools.speed import PEER, speed_text

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
    every, coverage_of_arms = population(normal(), "score"), module.coverage_of_arms
    for found in (coverage_of_arms(every, 10, 200), module.coverage_of_differences(every, DESIGN, 10, 400)):
        assert np.mean(found) == pytest.approx(0.95, abs=0.025)
    plain, alike, confirmed = (false_alarms(every, DESIGN, 10, 400, *how) for how in module.NULLS.values())
    assert plain < 0.08 and alike < 0.08 and confirmed < 0.01  # rarer if they must be confirmed
    constant = {arm: np.full(9, float(k)) for k, arm in enumerate(DESIGN.arms)}
    assert coverage_of_arms(constant, 5, 4) == [1] * len(constant)
    assert module.coverage_of_differences(constant, DESIGN, 5, 4) == [1] * len(DESIGN.comparisons)


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


def test_the_best_three_rates_get_a_second_look_of_as_many_seeds_as_the_fewest() -> None:
    """Of two rates whose means over n seeds differ by 1.5 deviations, a look at n is wrong in Φ(−1.06) = 14% of all
    draws, and two looks in Φ(−1.5) = 7%."""
    spread = np.tile([-1.0, 1.0], 50)
    found = tuned_again([spread + 0.15, spread], seeds=1, draws=400)
    assert np.mean(found.true < 0.1) == pytest.approx(0.067, abs=0.03)


def test_an_arm_without_a_score_is_left_out_and_one_that_was_tuned_is_in_the_table(monkeypatch: Patch) -> None:
    rows = pd.DataFrame({"areas": ["190 200 210 180", "1 2 3 4"]})
    monkeypatch.setattr(module, "rows_of", lambda *arm: rows)
    found = calibration(normal(), 4)
    about_tuning = found[found.what.str.contains("tuned")]
    assert {*about_tuning.what} == {WITH, WITHOUT} and sorted(about_tuning.seeds) == [10, 10, 30, 30]
    monkeypatch.setattr(module, "rows_of", lambda *arm: rows.assign(areas=["1 2", ""]))
    assert not calibration(normal(), 4).what.str.contains("tuned").any()
    first = MADE.runs.tricks.iloc[0]
    late = MADE.runs.late.mask(MADE.runs.tricks.eq(first) & MADE.runs.seed.eq(3))
    broken = replace(MADE, runs=MADE.runs.assign(late=late))
    every = [flags(arm.tricks) for arm in DESIGN.arms]
    assert [flags(arm.tricks) for arm in population(broken, "late")] == [name for name in every if name != first]
    assert len(population(broken, "score")) == len(every)
    lost = flags(DESIGN.comparisons[1].without.tricks)
    some = replace(MADE, runs=MADE.runs.assign(late=MADE.runs.late.mask(MADE.runs.tricks.eq(lost))))
    covered = calibration(some, 4).set_index("what")["mean"]  # of the comparisons whose arms have every score
    assert 0 <= covered["coverage: a difference"].max() <= 1 and covered["coverage: an arm's last 10%"].notna().all()


@pytest.mark.parametrize(
    ("design", "again", "found", "alarms"),
    [
        (ONE, False, [(1, LEVEL)], 0),
        (ONE, False, [(1, LEVEL / 2)], 1),
        (ONE, False, [(1, 1e-9), (-1, 1e-9)], 1),  # it need not be confirmed
        (ONE, True, [(1, LEVEL / 2), (1, LEVEL)], 0),
        (ONE, True, [(1, LEVEL / 2), (1, LEVEL / 2)], 1),
        (ONE, True, [(1, 1e-9), (-1, 1e-9)], 0),  # an effect that turns around
        (DESIGN, False, [(1, 1e-9), *[(1, 1.0)] * (len(DESIGN.comparisons) - 1)], 1),  # one of them is enough
    ],
)
def test_an_alarm_is_a_p_value_below_the_level(
    design: Design, again: bool, found: list[tuple[float, float]], alarms: float, monkeypatch: Patch
) -> None:
    given = (Estimate(mean, 0, 0, p) for mean, p in itertools.cycle(found))
    monkeypatch.setattr(module, "unpaired", lambda *_: next(given))
    assert false_alarms(population(MADE, "score"), design, 5, 1, alike=False, again=again) == alarms


def test_the_table_has_a_row_per_question_and_size(tmp_path: Path, capsys: Capture, refuses: Refuses) -> None:
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


def played(agents: int, **about: Any) -> Study:
    """A stored study of games by so many agents."""
    made = study(ladder(["baseline"]), lambda on: 0, seeds=agents)
    scores = {"trained": [[1.0, 2, 3, 4, 5]] * agents, "random": [[7.0] * 5] * agents}
    runs = made.runs[made.runs.tricks.eq("baseline")].assign(late=4.0)
    said = {"run": "x", "games": scores, "greedy": False, "seconds": 100.0, "steps": 20_000} | about
    return replace(made, name="games_x", designs=(), runs=runs, about=made.about | said)  # type: ignore[arg-type]


def test_the_scores_of_stored_games_in_words_and_in_a_report(tmp_path: Path) -> None:
    one = played(1, greedy=True)
    words = games_in_words(one)
    start = f"On {one.env}, one agent (seed 0) after {one.steps:,} steps: mean score 3.0 [1.0, 5.0] with"
    assert words.startswith(start)
    assert " with the most likely actions, against 7.0 [7.0, 7.0] with random actions (5 whole games each; 95%" in words
    assert words.endswith(
        "over games). In the last tenth of training it was 4.0. Training took 1.7 minutes, 200 steps a second."
    )  # t with 4 degrees of freedom: 2.776
    assert "5 agents (seeds 0 to 4)" in games_in_words(played(5)) and "over agents" in games_in_words(played(5))
    atari = replace(one, runs=one.runs.assign(env="ALE/Pong-v5"))
    assert games_in_words(atari).endswith("200 steps a second; at that rate 10 million would take 13.9 hours.")
    unknown = played(1, seconds=float("nan"))
    unknown.runs["late"] = float("nan")
    assert games_in_words(unknown).endswith("over games).")
    save(one, tmp_path)
    assert main(["report", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.md").read_text()
    assert f"{words} Flags: baseline." in page
    assert "![x: the score during training, and of whole games after it](games_x.png)" in page


def test_a_table_has_a_row_per_backend_and_size_and_a_ratio_to_the_peer(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("stable_baselines3")
    path, other = tmp_path / "new" / "speed.csv", tmp_path / "other.csv"
    other.write_text("who,seeds,steps_per_second\nPureJaxRL,16,250000\n", encoding="utf-8")
    few = ["--backends", "tensor,gymnasium", "--seeds", "1,3", "--steps", "100"]
    assert main(["speed", *few, "--beside", str(other), "--against", "sb3", "--out", str(path)]) == 0
    said, frame = capsys.readouterr().out, pd.read_csv(path)
    assert frame.iloc[-1][["who", "steps_per_second"]].tolist() == ["PureJaxRL", 250_000]
    frame = frame.iloc[:-1]
    assert frame.backend.tolist() == ["tensor", "tensor", "gymnasium", "gymnasium", "gymnasium"]
    assert frame.seeds.tolist() == [1, 3, 1, 3, 1]
    assert (frame.megabytes > 50).all()
    assert said.count("| tricks ") == 4 and "| × sb3 | × PureJaxRL |\n" in said


def test_each_stack_is_measured_plainly_too_and_the_cost_is_relative_to_the_smallest(capsys: Capture) -> None:
    assert main(["speed", "--backends", "tensor", "--seeds", "2", "--steps", "100", "--plain"]) == 0
    said = capsys.readouterr().out
    assert "tensor cpu plain S=2: " in said and said.count("| plain ") == 1
    assert "without what numba compiles" in said
    base = {"who": "tricks", "backend": "tensor", "device": "cpu", "megabytes": 1.0}
    four, one = {"seeds": 4, "steps_per_second": 20}, {"seeds": 1, "steps_per_second": 10}
    text = speed_text(pd.DataFrame([base | four, base | one]))
    assert [line.split("|")[-2].strip() for line in text.splitlines()[2:]] == ["2.00", "1.00"]


HEAD = "who,seeds,steps_per_second"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *((["--seeds", x], f"--seeds must be stack sizes of at least 1, such as 1,10,100, not '{x}'") for x in "x0"),
        (["--backends", "toaster"], "unknown backend 'toaster'"),
        (["--backends", "tensor", "--env", "FrozenLake-v1"], "backend tensor has no 'FrozenLake-v1'"),
        *((["--device", name], f"no device '{name}'") for name in ("toaster", "meta")),
        (["--against", "toaster"], "unknown peer 'toaster'; the only one is sb3"),
        (["--rung", "toaster"], "unknown rung 'toaster'"),
        (["--rung", "clip", "--against", "sb3"], "--against sb3 needs --rung ppo, not clip"),
        (["--out", "/proc/none/x.csv"], "cannot make the folder /proc/none"),
        (["--beside", "/none.csv"], "cannot read --beside /none.csv: No such file or directory"),
        (["--out", "/tmp"], "--out must be a file, but /tmp is a folder"),
        (["--steps", "-5"], "--steps must be at least 1, not -5"),
        (["--beside", "who,seeds\nx,1\n"], PEER),
        (["--beside", "who,steps_per_second\nx,1\n"], PEER),
        (["--beside", f"{HEAD}\nx,1,fast\n"], "could not convert string to float: 'fast'"),
        (["--beside", f"{HEAD},megabytes\nx,1,5,CartPole-v1\n"], "could not convert string to float"),
        *((["--beside", f"{HEAD}\nx,1,{x}\n"], PEER) for x in ("inf", "-5")),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, tmp_path: Path, refuses: Refuses) -> None:
    if "\n" in arguments[-1]:
        (tmp_path / "peers.csv").write_text(arguments[-1], encoding="utf-8")
        arguments = ["--beside", str(tmp_path / "peers.csv")]
    refuses(main, ["speed", *arguments], message)
