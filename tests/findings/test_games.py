"""Games: what a saved run's agents score next to random actions, and how long their training took."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium.spaces import MultiDiscrete
from support.any_space import AnySpace

from ablations.analysis.study_files import load_all
from ablations.cli import main
from ablations.findings import games
from ablations.findings.game_scores import mean_score
from ablations.findings.games_section import games_in_words
from tricks import PPO, Config, Run, train
from tricks.restore import load


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


def test_two_runs_in_folders_of_one_name_are_not_mixed(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = tmp_path / "a" / "x", tmp_path / "b" / "x"
    run.save(a)
    train(Config(seeds=(3, 4), steps=200), PPO).save(b)
    assert [play(folder, tmp_path) for folder in (a, b, a)] == [0, 2, 0]
    assert "holds the games of an earlier or another run of this name; choose another --out" in capsys.readouterr().err
    monkeypatch.setattr(games, "played", lambda *_: pytest.fail("played before it was refused"))
    assert play(b, tmp_path) == 2


def test_both_play_and_the_report_shows_it(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_what_cannot_be_played_is_said_in_a_line(run: Run, tmp_path: Path, refuses: Callable[..., None]) -> None:
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


def test_the_time_of_a_training_is_saved_with_it(run: Run, tmp_path: Path) -> None:
    assert 0 < run.seconds < 600
    run.save(tmp_path)
    assert load(tmp_path).seconds == run.seconds
    replace(run, seconds=np.nan).save(tmp_path / "unknown")
    assert np.isnan(load(tmp_path / "unknown").seconds)
