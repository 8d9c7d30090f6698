"""Calibration: intervals cover as they should. Games: scores of a saved run. Speed: measuring changes nothing."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from gymnasium.spaces import MultiDiscrete
from support.any_space import AnySpace
from support.studies import study

from ablations.analysis.records import SHARES, Study, load_all, save
from ablations.analysis.stats import LEVEL, Estimate
from ablations.cli import main
from ablations.question.arms import Design, flags
from ablations.question.designs import ladder, leave_one_out
from ablations.tools import calibrate as module
from ablations.tools import games
from ablations.tools.calibrate import (
    SIZES,
    Population,
    Tuned,
    calibration,
    false_alarms,
    in_words,
    population,
    tuned_again,
)
from ablations.tools.games import games_in_words, mean_score
from ablations.tools.speed import PEER, speed_text
from ablations.tools.stopwatch import stopwatches
from tricks import PPO, Config, Run, loop, train, training
from tricks.restore import load

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
    assert false_alarms(every, DESIGN, 10, 400) < 0.08 and false_alarms(every, DESIGN, 10, 400, alike=True) < 0.08
    assert false_alarms(every, DESIGN, 10, 400, again=True) < 0.01  # rarer if they must be confirmed
    constant = {arm: np.full(9, float(k)) for k, arm in enumerate(DESIGN.arms)}
    assert coverage_of_arms(constant, 5, 4).tolist() == [1] * len(constant)
    assert module.coverage_of_differences(constant, DESIGN, 5, 4).tolist() == [1] * len(DESIGN.comparisons)


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


def tuned(*means: float) -> Tuned:
    """An arm whose runs are as its rate's mean says, and nothing else, with a variance of choosing of 0.2."""
    return Tuned(np.array(means), np.full(len(means), 0.2), np.repeat(np.array(means)[:, None], 5, axis=1))


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
    assert ({*about_tuning.what}, about_tuning.seeds.tolist()) == ({WITH, WITHOUT}, [10, 10, 30, 30])
    monkeypatch.setattr(module, "rows_of", lambda *arm: rows.assign(areas=["1 2", ""]))
    assert not calibration(normal(), 4).what.str.contains("tuned").any()
    first = MADE.runs.tricks.iloc[0]
    late = MADE.runs.late.mask(MADE.runs.tricks.eq(first) & MADE.runs.seed.eq(3))
    broken = replace(MADE, runs=MADE.runs.assign(late=late))
    every = [flags(arm.tricks) for arm in DESIGN.arms]
    assert [flags(arm.tricks) for arm in population(broken, "late")] == [name for name in every if name != first]
    assert len(population(broken)) == len(every)
    lost = flags(DESIGN.comparisons[1].without.tricks)
    some = replace(MADE, runs=MADE.runs.assign(late=MADE.runs.late.mask(MADE.runs.tricks.eq(lost))))
    covered = calibration(some, 4).set_index("what")["mean"]  # of the comparisons whose arms have every score
    assert 0 <= covered["coverage: a difference"].max() <= 1 and covered["coverage: an arm's last 10%"].notna().all()


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


def test_arms_keep_their_spread_and_a_shared_one_comes_twice(estimates: Callable[..., Any], monkeypatch: Patch) -> None:
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


Capture = pytest.CaptureFixture[str]
Refuses = Callable[..., None]


@pytest.fixture(scope="module")
def run() -> Run:
    return train(Config(seeds=(3, 4), steps=2000, lr=(0.01, 0.003)), PPO)


def play(folder: Path, out: Path, *asked: str, count: int = 5) -> int:
    return main(["games", str(folder), *asked, "--games", str(count), "--out", str(out)])


def test_the_random_agent_finds_all_actions_equally_likely_and_leaves_the_trained_one_as_it_was(run: Run) -> None:
    obs = torch.randn(2, 5, 4)
    before = run.agent.policy(obs)
    assert games.at_random(run).agent.policy(obs).softmax(-1).unique().tolist() == [0.5]
    assert run.agent.policy(obs).equal(before)
    several = AnySpace(action=MultiDiscrete([2, 3]))  # it makes each of several choices at random
    numbers = Config(seeds=1, steps=40, lanes=1, horizon=8, minibatches=2)
    many = train(numbers, PPO, env=lambda: deepcopy(several))
    logits = games.at_random(many).agent.policy(torch.randn(1, 4, 3))
    assert (logits.shape, logits.unique().tolist()) == ((1, 4, 5), [0])


def test_runs_of_a_name_stay_apart_and_agents_do_not_overwrite_each_other(
    run: Run, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = tmp_path / "a" / "x", tmp_path / "b" / "x"
    run.save(a)
    train(Config(seeds=(3, 4), steps=200), PPO).save(b)
    assert [play(folder, tmp_path) for folder in (a, b, a)] == [0, 2, 0]
    assert "holds the games of an earlier or another run of this name; choose another --out" in capsys.readouterr().err
    monkeypatch.setattr(games, "played", lambda *_: pytest.fail("played before it was refused"))
    assert play(b, tmp_path) == 2
    monkeypatch.undo()
    (out := tmp_path / "out").mkdir()
    for name in ("one", "two"):
        run.save(tmp_path / name)
    for name, *asked in (["one"], ["two"], ["one", "--greedy"]):
        assert play(tmp_path / name, out, *asked) == 0
    names = ["games_one", "games_one_greedy", "games_two"]
    assert sorted(study.name for study in load_all(out)) == names


def test_both_play_and_the_report_shows_it(run: Run, tmp_path: Path, capsys: Capture) -> None:
    run = replace(run, seconds=200.0)
    run.save(tmp_path / "stack")
    assert play(tmp_path / "stack", tmp_path, count=200) == 0
    (study,) = load_all(tmp_path)
    assert study.about["command"] == "python -m ablations games stack --games 200"  # not where it lies
    assert (study.kind, study.name, study.runs.seed.tolist()) == ("games", "games_stack", [3, 4])
    assert np.allclose(study.about["games"]["trained"], run.evaluate(200))
    assert 20 < np.mean(study.about["games"]["random"]) < 25  # 22.3, ablations/analysis/scales.py
    said = games_in_words(study)
    assert said in capsys.readouterr().out
    assert said.startswith("On CartPole-v1, 2 agents (seeds 3 to 4) after 2,000 steps: mean score ")
    steps = int(run.curve.groupby("seed").step.max().sum())  # of both agents: they were trained at once
    assert said.endswith(f" Training took 3.3 minutes, {steps / 200:.0f} steps a second.")
    assert main(["report", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.md").read_text()
    assert f"{said} Flags: {', '.join(run.tricks.on)}." in page
    assert "![stack: the score during training, and of whole games after it](games_stack.png)" in page
    assert "whole blocks" not in page and "; seeds 3 to 4; " in page


def test_intervals_are_over_games_of_few_agents_and_over_agents_where_there_are_enough(run: Run) -> None:
    asked = games.Options(games=5, greedy=True)
    study = games.played(games.trained(run, asked, "x", ""), run, asked)
    assert study.runs.lr.tolist() == [0.01, 0.003]  # each agent's own
    assert study.about["games"]["trained"] == run.evaluate(5, greedy=True).tolist()
    scores = study.about["games"] = {"trained": [[1.0, 2, 3, 4, 5]], "random": [[7.0] * 5]}
    assert (
        "2 agents (seeds 3 to 4) after 2,000 steps: mean score 3.0 [1.0, 5.0] with the most likely actions, against "
        "7.0 [7.0, 7.0] with random actions (5 whole games each; 95% intervals over games)"
    ) in games_in_words(study)  # t with 4 degrees of freedom: 2.776
    over_games = mean_score(study, "trained")
    scores["trained"] = [[k - 9.0, k + 9.0] for k in range(1, 6)]
    assert mean_score(study, "trained") == over_games
    scores["trained"] = [[1.0, 2, 3, 4, 5]]
    study.about["seconds"], study.about["steps"] = 100, 20_000
    atari = replace(study, runs=study.runs.assign(env="ALE/Pong-v5"))
    assert games_in_words(atari).endswith("200 steps a second; at that rate 10 million would take 13.9 hours.")
    study.about["seconds"] = float("nan")
    late = study.runs.late.mean()
    assert games_in_words(study).endswith(f"over games). In the last tenth of training it was {late:.1f}.")
    study.runs["late"] = float("nan")
    assert games_in_words(study).endswith("over games).")


def test_what_cannot_be_played_is_one_line_and_trainings_keep_their_time(
    run: Run, tmp_path: Path, refuses: Refuses
) -> None:
    run.save(tmp_path / "run")
    train(Config("Pendulum-v1", seeds=1, steps=500), PPO).save(tmp_path / "box")
    for asked, said in (
        ([], "games takes the folder of a saved run"),
        (["a", "b"], "games takes one folder, not 2: a, b"),
        ([str(tmp_path / "nowhere")], "no saved run in"),
        ([str(tmp_path / "run"), "--games", "4"], "--games must be at least 5"),
        ([str(tmp_path / "box")], "Pendulum-v1 has Box actions"),
    ):
        refuses(main, ["games", *asked, "--out", str(tmp_path)], said)
    assert 0 < run.seconds < 600
    run.save(tmp_path)
    assert load(tmp_path).seconds == run.seconds
    replace(run, seconds=np.nan).save(tmp_path / "unknown")
    assert np.isnan(load(tmp_path / "unknown").seconds)


@pytest.mark.parametrize("env", ["CartPole-v1", "tricks/Corridor1-v0"])
def test_the_stopwatches_see_every_step_and_change_nothing(env: str) -> None:
    config = Config(env, seeds=2, steps=2000, lanes=4, horizon=64)
    plain, names = train(config, PPO), {"open_env": training, "play_segment": loop}
    kept = {name: getattr(place, name) for name, place in names.items()}
    with stopwatches(torch.device("cpu")) as spent:
        watched = train(config, PPO)
    assert spent["rollout"] > 0
    if env != "CartPole-v1":  # whose segments are one compiled call, rules included
        assert 0 < spent["environment"] < spent["rollout"]
    pd.testing.assert_frame_equal(plain.curve, watched.curve)
    assert all(getattr(place, name) is kept[name] for name, place in names.items())


def test_a_table_has_a_row_per_backend_and_size_and_a_ratio_to_the_peer(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("stable_baselines3")
    path, other = tmp_path / "new" / "speed.csv", tmp_path / "other.csv"
    other.write_text("who,seeds,steps_per_second\nPureJaxRL,16,250000\n", encoding="utf-8")
    few = ["--backends", "tensor,gymnasium", "--seeds", "1,3", "--steps", "100"]
    assert main(["speed", *few, "--beside", str(other), "--against", "sb3", "--out", str(path)]) == 0
    said, frame = capsys.readouterr().out, pd.read_csv(path)
    assert path.with_suffix(".png").stat().st_size > 10_000
    assert frame.iloc[-1][["who", "steps_per_second"]].tolist() == ["PureJaxRL", 250_000]
    frame = frame.iloc[:-1]
    assert frame.backend.tolist() == ["tensor", "tensor", "gymnasium", "gymnasium", "gymnasium"]
    assert frame.seeds.tolist() == [1, 3, 1, 3, 1]
    ours = frame[frame.who == "tricks"]
    total = ours[["environment", "rollout", "update"]].sum(axis=1)
    assert (1e6 / total / ours.steps_per_second).between(0.99, 1.01).all()  # of digits that are left out
    assert (frame.megabytes > 50).all()
    assert said.count("| tricks ") == 4 and "| × sb3 | × PureJaxRL |\n" in said


def test_each_stack_is_measured_plainly_too_and_the_cost_is_relative_to_the_smallest(capsys: Capture) -> None:
    assert main(["speed", "--backends", "tensor", "--seeds", "2", "--steps", "100", "--plain"]) == 0
    said = capsys.readouterr().out
    assert "tensor cpu plain S=2: " in said and said.count("| plain ") == 1
    assert "without what numba compiles" in said
    times = {"environment": 1.0, "rollout": 1.0, "update": 1.0, "megabytes": 1.0}
    base = {"who": "tricks", "backend": "tensor", "device": "cpu", **times}
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
        (["--beside", f"{HEAD},environment\nx,1,5,CartPole-v1\n"], "could not convert string to float"),
        *((["--beside", f"{HEAD}\nx,1,{x}\n"], PEER) for x in ("inf", "-5")),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, tmp_path: Path, refuses: Refuses) -> None:
    if "\n" in arguments[-1]:
        (tmp_path / "peers.csv").write_text(arguments[-1], encoding="utf-8")
        arguments = ["--beside", str(tmp_path / "peers.csv")]
    refuses(main, ["speed", *arguments], message)
