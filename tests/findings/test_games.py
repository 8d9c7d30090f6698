"""Games: what a saved run's agents score next to random actions. Speed: times add up, and measuring changes nothing."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from gymnasium.spaces import MultiDiscrete
from support.any_space import AnySpace

from ablations.analysis.study_files import load_all
from ablations.cli import main
from ablations.findings import games
from ablations.findings.game_scores import mean_score
from ablations.findings.games_section import games_in_words
from ablations.findings.speed import speed_text
from ablations.findings.stopwatch import stopwatches
from tricks import PPO, Config, Run, loop, train, training
from tricks.restore import load

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


def test_two_runs_of_one_name_are_not_mixed(
    run: Run, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = tmp_path / "a" / "x", tmp_path / "b" / "x"
    run.save(a)
    train(Config(seeds=(3, 4), steps=200), PPO).save(b)
    assert [play(folder, tmp_path) for folder in (a, b, a)] == [0, 2, 0]
    assert "holds the games of an earlier or another run of this name; choose another --out" in capsys.readouterr().err
    monkeypatch.setattr(games, "played", lambda *_: pytest.fail("played before it was refused"))
    assert play(b, tmp_path) == 2


def test_both_play_and_the_report_shows_it(run: Run, tmp_path: Path, capsys: Capture) -> None:
    run = replace(run, seconds=200.0)
    run.save(tmp_path / "stack")
    assert play(tmp_path / "stack", tmp_path, "--seed", "4", count=200) == 0
    (study,) = load_all(tmp_path)
    assert study.about["command"] == "python -m ablations games stack --seed 4 --games 200"  # not where it lies
    assert (study.kind, study.name, study.runs.seed.tolist()) == ("games", "games_stack_seed4", [4])
    assert np.allclose(study.about["games"]["trained"], run.evaluate(200)[1:])
    assert 20 < np.mean(study.about["games"]["random"]) < 25  # 22.3, ablations/analysis/scales.py
    said = games_in_words(study)
    assert said in capsys.readouterr().out
    assert said.startswith("On CartPole-v1, one agent (seed 4) after 2,000 steps: mean score ")
    steps = int(run.curve.groupby("seed").step.max().sum())  # of both agents: they were trained at once
    assert said.endswith(f" Training took 3.3 minutes, {steps / 200:.0f} steps a second.")
    assert main(["report", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.md").read_text()
    assert f"{said} Flags: {', '.join(run.tricks.on)}." in page
    assert "![stack: the score during training, and of whole games after it](games_stack_seed4.png)" in page
    assert "whole blocks" not in page
    assert "; seed 4; " in page


def test_agents_and_ways_to_play_do_not_overwrite_each_other(run: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run.save(tmp_path / name)
    for name, *asked in (["one"], ["two"], ["one", "--seed", "3"], ["one", "--greedy"]):
        assert play(tmp_path / name, tmp_path, *asked) == 0
    names = ["games_one", "games_one_greedy", "games_one_seed3", "games_two"]
    assert sorted(study.name for study in load_all(tmp_path)) == names


def test_intervals_are_over_games_of_few_agents_and_over_agents_where_there_are_enough(run: Run) -> None:
    asked = games.Options(games=5, greedy=True)
    study = games.played(games.trained(run, run, asked, "x", ""), run, asked)
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


def test_what_cannot_be_played_is_said_in_a_line_and_the_time_of_a_training_is_saved(
    run: Run, tmp_path: Path, refuses: Refuses
) -> None:
    run.save(tmp_path / "run")
    train(Config("Pendulum-v1", seeds=1, steps=500), PPO).save(tmp_path / "box")
    for asked, said in (
        ([], "games takes the folder of a saved run"),
        (["a", "b"], "games takes one folder, not 2: a, b"),
        ([str(tmp_path / "nowhere")], "no saved run in"),
        ([str(tmp_path / "run"), "--games", "4"], "--games must be at least 5"),
        ([str(tmp_path / "run"), "--seed", "5"], "the run has no seed 5; it has 3, 4"),
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
    few = ["--backends", "tensor,gymnasium", "--seeds", "1,3", "--steps", "100", "--processes", "2"]
    assert main(["speed", *few, "--beside", str(other), "--against", "sb3", "--out", str(path)]) == 0
    said, frame = capsys.readouterr().out, pd.read_csv(path)
    assert path.with_suffix(".png").stat().st_size > 10_000
    assert frame.iloc[-1][["who", "steps_per_second"]].tolist() == ["PureJaxRL", 250_000]
    frame = frame.iloc[:-1]
    assert frame.backend.tolist() == ["tensor", "tensor", "gymnasium", "gymnasium", "gymnasium"]
    assert frame.seeds.tolist() == [1, 3, 1, 3, 1]
    assert (frame.processes == 2).all()
    ours = frame[frame.who == "tricks"]
    total = ours[["environment", "rollout", "update"]].sum(axis=1)
    # the times are the mean of both processes, the speed is their sum; so 2/mean falls short of it if they differ
    assert (2e6 / total / ours.steps_per_second).between(0.5, 1.001).all()
    assert (frame.megabytes > 50).all()
    assert said.count("| tricks ") == 4
    assert said.splitlines()[5].endswith("× sb3 | × PureJaxRL |")


def test_each_stack_is_measured_in_its_plain_form_too(capsys: Capture) -> None:
    assert main(["speed", "--backends", "tensor", "--seeds", "2", "--steps", "100", "--plain"]) == 0
    said = capsys.readouterr().out
    assert "tensor cpu plain S=2: " in said
    assert said.count("| plain ") == 1
    assert "without what numba compiles" in said


HEAD = "who,seeds,steps_per_second"
PEERS = "needs seeds of at least 1 and steps_per_second above 0, and finite"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *((["--seeds", x], f"--seeds must be stack sizes of at least 1, such as 1,10,100, not '{x}'") for x in "x0"),
        (["--backends", "toaster"], "unknown backend 'toaster'"),
        (["--backends", "tensor", "--env", "FrozenLake-v1"], "backend tensor has no 'FrozenLake-v1'"),
        *((["--devices", name], f"no device '{name}'") for name in ("toaster", "meta")),
        (["--against", "toaster"], "unknown peer 'toaster'; the only one is sb3"),
        (["--rung", "toaster"], "unknown rung 'toaster'"),
        (["--rung", "clip", "--against", "sb3"], "--against sb3 needs --rung ppo, not clip"),
        (["--out", "/proc/none/x.csv"], "cannot make the folder /proc/none"),
        (["--beside", "/none.csv"], "cannot read --beside /none.csv: No such file or directory"),
        (["--out", "/tmp"], "--out must be a file, but /tmp is a folder"),
        (["--processes", "0"], "--processes must be at least 1, not 0"),
        (["--steps", "-5"], "--steps must be at least 1, not -5"),
        (["--beside", "who,seeds\nx,1\n"], f"lacks the column steps_per_second; it needs {HEAD.replace(',', ', ')}"),
        (["--beside", f"{HEAD}\nx,1,fast\n"], "has a number that is none"),
        (["--beside", f"{HEAD},environment\nx,1,5,CartPole-v1\n"], "has a number that is none"),
        *((["--beside", f"{HEAD}\nx,1,{x}\n"], PEERS) for x in ("inf", "-5")),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, tmp_path: Path, refuses: Refuses) -> None:
    if "\n" in arguments[-1]:
        (tmp_path / "peers.csv").write_text(arguments[-1], encoding="utf-8")
        arguments = ["--beside", str(tmp_path / "peers.csv")]
    refuses(main, ["speed", *arguments], message)


def test_the_cost_is_relative_to_the_smallest_stack_wherever_it_stands() -> None:
    times = {"environment": 1.0, "rollout": 1.0, "update": 1.0, "megabytes": 1.0}
    base = {"who": "tricks", "backend": "tensor", "device": "cpu", "processes": 1, **times}
    four, one = {"seeds": 4, "steps_per_second": 20}, {"seeds": 1, "steps_per_second": 10}
    text = speed_text(pd.DataFrame([base | four, base | one]))
    assert [line.split("|")[-2].strip() for line in text.splitlines()[2:]] == ["2.00", "1.00"]
