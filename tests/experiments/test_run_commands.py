"""`run`, `sweep`, `random` and `worlds`: the numbers that are given hold for all arms, finished work is not done again,
and `--confirm` tries what was detected again, on the seeds that come next. `status` names what the code has left
behind, and `refresh` trains it anew."""

import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from support.fixtures import Capture, Patch, Refuses, refusal
from support.studies import study

from ablations.analysis import outcomes
from ablations.analysis.ledger import fresh_seeds
from ablations.analysis.records import load_all, save
from ablations.cli import main
from ablations.experiments import design_runs, status, worlds
from ablations.experiments.design_runs import What, questions
from ablations.question.arms import flags, numbers
from ablations.question.designs import ladder
from ablations.question.trial import Dose, Trial
from ablations.training import rates as rate_table
from tricks import CONTINUOUS_CONFIG, Config, Tricks
from tricks.runs.files import HOST
from tricks.version import ALGORITHM

FEW = ["run", "--tricks", "entropy,grad_clip", "--steps", "300", "--workers", "1"]
TINY = ["--steps", "1024", "--workers", "1"]
TRIAL = Trial("baseline", (), (Dose(1, Config("tricks/OffsetReward-v0", steps=400, lanes=2, horizon=10)),), 1, "why")


@pytest.fixture
def trials(rates: Path, monkeypatch: Patch) -> Callable[..., None]:
    """Sets the trials, whose table of rates is still empty."""

    def these(*trials: Trial) -> None:
        for module in (worlds, outcomes):
            monkeypatch.setattr(module, "TRIALS", trials)

    return these


def run_worlds(folder: Path, *more: str, seeds: str = "2") -> int:
    return main(["worlds", "--seeds", seeds, "--workers", "1", "--out", str(folder), *more])


def test_only_arms_of_detected_effects_are_tried_again(tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> None:
    assert main([*FEW, "--seeds", "3", "--confirm", "--out", str(tmp_path)]) == 0  # too few to detect anything
    assert "no effect is decided, so there is nothing" in capsys.readouterr().out
    assert load_all(tmp_path)[0].again is None
    rung = ladder(["grad_clip", "entropy"]).comparisons[0]
    monkeypatch.setattr(design_runs, "decided_arms", lambda study: frozenset((rung.without, rung.having)))
    assert main([*FEW, "--seeds", "10", "--confirm", "--out", str(tmp_path)]) == 0
    assert "rerunning 2 arms of decided effects on seeds 10 to 19" in capsys.readouterr().out
    (study,) = load_all(tmp_path)
    assert study.again is not None and study.again.about["confirms"] == study.name
    again = study.again.runs
    assert (set(again.seed), set(again.tricks)) == ({*range(10, 20)}, {"", "grad_clip"})
    assert set(again.lr) == set(study.runs.lr)
    assert study.of(Tricks(entropy=True, grad_clip=True)).seed.tolist() == [*range(10)]
    assert main(["report", "--out", str(tmp_path)]) == 0


def test_studies_sweeps_and_random_agents_have_the_numbers_that_are_given_or_the_preset_s(tmp_path: Path) -> None:
    given = ["--tricks", "clip,entropy", "--gamma", "0.9", "--lr", "0.01", "--hidden", "16", "16", "--seeds", "1"]
    assert main(["run", *given, *TINY, "--out", str(tmp_path)]) == 0
    (study,) = load_all(tmp_path)
    assert "gamma=0.9" in study.name
    assert (set(study.runs.numbers), set(study.runs.lr)) == ({"gamma=0.9 hidden=(16,16)"}, {0.01})
    for given_too, horizon in (((), 2048), ((("horizon", 64),), 64)):
        (asked,) = questions(What(design="around-continuous", env="Pendulum-v1", numbers=given_too), "10")
        configs = [asked.job(arm).config for arm in asked.arms]
        expected = {(horizon, CONTINUOUS_CONFIG.lr, 32)}
        assert ({(each.horizon, each.lr, each.minibatches) for each in configs}, asked.rates) == (expected, ())
        assert ("horizon=64" in asked.name) == (horizon == 64)
    vary = ["--lr", "0.001", "--vary", "epochs=1,2", "--env", "Pendulum-v1", "--seeds", "2"]
    assert main(["sweep", "--rung", "continuous", *vary, "--horizon", "64", *TINY, "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("*.sweep.csv")
    assert pd.read_csv(path).numbers.unique().tolist() == ["lanes=1 horizon=64 minibatches=32 value_epochs=10"]
    given = ["--draws", "20", "--gamma", "0.9", "--tricks", "baseline,clip"]
    assert main(["random", *given, *TINY, "--out", str(tmp_path)]) == 0
    (choices,), (agents,) = (list(tmp_path.glob(f"random_*gamma=0.9_*.{kind}")) for kind in ("choices.csv", "csv.gz"))
    assert "gamma" not in set(pd.read_csv(choices).choice)
    assert set(pd.read_csv(agents).gamma) == {0.9}
    assert fresh_seeds(tmp_path, ["any"], 1) == (20,)  # those of sweeps and random agents are used, too
    agents.unlink()
    assert fresh_seeds(tmp_path, ["any"], 1) == (2,)


def test_worlds_trains_both_arms_and_goes_on(tmp_path: Path, trials: Callable[..., None], capsys: Capture) -> None:
    trials(TRIAL)
    assert run_worlds(tmp_path, "--tune") == 0
    scores = rate_table.read_table(tmp_path / "learning_rates.csv")
    assert (set(scores.tricks), set(scores.numbers)) == ({"", "baseline"}, {"lanes=2 horizon=10"})
    first, frame = (tmp_path / "worlds.csv").read_text(), pd.read_csv(tmp_path / "worlds.csv")
    assert frame.difference[0] == pytest.approx(frame["with"][0] - frame.without[0], abs=1e-3)  # as it is written
    assert np.isnan(frame.low[0])  # two seeds have no interval
    assert (tmp_path / "worlds.png").stat().st_size > 1000
    capsys.readouterr()
    assert run_worlds(tmp_path) == 0
    assert "2 jobs, 2 of them done before" in capsys.readouterr().out
    assert (tmp_path / "worlds.csv").read_text() == first


FIXED = (replace(TRIAL, rate=0.003), replace(TRIAL, rate=0.01))  # without a table, the rate of all arms is 0.003


@pytest.mark.parametrize("order", [(FIXED[0], TRIAL, FIXED[1]), (TRIAL, *FIXED)], ids=["fixed first", "tuned first"])
def test_what_two_trials_share_is_once(order: tuple[Trial, ...], tmp_path: Path, trials: Callable[..., None]) -> None:
    trials(*order)
    assert run_worlds(tmp_path) == run_worlds(tmp_path) == 0  # the second time, it reads what it wrote
    (study,) = load_all(tmp_path)
    assert study.runs.groupby("lr").size().to_dict() == {0.003: 4, 0.01: 4}
    assert set(study.runs.tuned[study.runs.lr == 0.003]) == {"not tuned"}
    assert len(pd.read_csv(tmp_path / "worlds.csv")) == 3


def test_the_trials_in_a_world_have_files_of_its_whole_name(tmp_path: Path, trials: Callable[..., None]) -> None:
    trial = replace(TRIAL, doses=(Dose(1, replace(TRIAL.config, env="tricks/Loan0Pay0.1-v0")),))
    trials(trial)
    (tmp_path / f".worlds.csv.{HOST}.999999999").touch()  # what a process that was killed has left is removed
    assert run_worlds(tmp_path, "--tricks", "baseline", "--env", trial.env, seeds="10:12") == 0
    name = "worlds_baseline_tricks_Loan0Pay0.1-v0_from10"
    files = {"jobs.sqlite"} | {f"{name}.{kind}" for kind in ("runs.csv.gz", "csv", "md", "png")}
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == files


def test_trials_are_picked_by_trick_and_by_the_environment_of_any_dose(trials: Callable[..., None]) -> None:
    assert {trial.trick for trial in worlds.picked("", "tricks/Mail3-v0")} == {"gae"}
    found = worlds.picked("baseline,entropy", "tricks/Loan0Pay0.1-v0")
    assert ([trial.trick for trial in found], len(worlds.picked("entropy"))) == (["baseline", "entropy"], 3)
    trials(*(replace(TRIAL, doses=(Dose(1, replace(TRIAL.config, env=env)),)) for env in "AB"))
    refusal(r"there is no trial in Elsewhere; there are trials in A, B$", worlds.picked, "", "Elsewhere")
    placed = worlds.asked(TRIAL, TRIAL.doses[0], (0, 1), "cuda:7")
    assert {placed.job(arm).config.device for arm in placed.arms} == {"cuda:7"}
    usual = worlds.Options()  # nothing is tried again unasked
    assert (usual.confirm, usual.device, usual.workers, usual.out) == (False, "cpu", 0, Path("runs/ablations"))


def test_worlds_tries_again_what_it_has_seen(tmp_path: Path, monkeypatch: Patch, trials: Callable[..., None]) -> None:
    weaker = Dose(0.5, replace(TRIAL.config, horizon=20))
    trials(replace(TRIAL, doses=(weaker, *TRIAL.doses), varied="x"))
    monkeypatch.setattr(worlds, "trial_table", lambda found: pd.DataFrame({"seen": [1] * len(found)}))
    assert run_worlds(tmp_path, "--confirm", seeds="5") == 0
    (study,) = load_all(tmp_path)
    assert study.again is not None and set(study.again.runs.seed) == {*range(5, 10)}
    assert set(study.runs.numbers) == {"lanes=2 horizon=10", "lanes=2 horizon=20"}
    assert set(study.again.runs.numbers) == {"lanes=2 horizon=10"}  # at its largest dose


@pytest.mark.parametrize(("score", "rate"), [("area", 0.01), ("late", 0.03)])
def test_a_trial_is_at_its_best_rate(score: Literal["area", "late"], rate: float, tmp_path: Path, trials: Any) -> None:
    """Of both arms of TRIAL: by the area, 0.01 is the best rate, and by the last 10%, 0.03."""
    trials(replace(TRIAL, score=score))
    config, scores = TRIAL.config, ((0.01, 5.0, 1.0), (0.03, 5.0, 2.0))
    arms = [(config.env, config.steps, numbers(config), flags(arm)) for arm in (TRIAL.without, TRIAL.having)]
    rows = [(*arm, *score, 1, "5") for arm in arms for score in scores]
    rate_table.store_table(pd.DataFrame(rows, columns=rate_table.COLUMNS))
    assert (run_worlds(tmp_path), set(load_all(tmp_path)[0].runs.lr)) == (0, {rate})


def store(folder: Path, name: str, command: str, algorithm: str = "1", clean: str = "True", tricks: int = 1) -> None:
    made = study(ladder(["baseline", "entropy"][:tricks]), lambda on: 0)
    runs = made.runs.assign(algorithm=algorithm, clean=clean, commit="0123456789")
    save(replace(made, name=name, runs=runs, about=made.about | {"command": command}), folder)


def test_studies_of_another_algorithm_or_tree_are_stale(tmp_path: Path, capsys: Capture, refuses: Refuses) -> None:
    words = ["status", "--out", str(tmp_path)]
    refuses(main, words, "no run files")
    store(tmp_path, "ours", "x", str(ALGORITHM))
    assert main(words) == 0 and "\n0 of 1 studies are stale" in capsys.readouterr().out
    store(tmp_path, "older", "x")
    store(tmp_path, "changed", "x", str(ALGORITHM), clean="False")
    assert main(words) == 1
    said = capsys.readouterr().out
    marks = {line.split(" | ")[0].strip("| "): "stale |" in line for line in said.splitlines() if "ALGORITHM" in line}
    assert marks | {"ours": False, "older": True, "changed": True} == marks
    assert "\n2 of 3 studies are stale" in said


@pytest.fixture
def run(monkeypatch: Patch) -> Mock:
    """Takes the place of `subprocess.run`; every command succeeds unless a test says otherwise."""
    run = Mock(return_value=Mock(returncode=0))
    monkeypatch.setattr(status, "subprocess", Mock(run=run, TimeoutExpired=subprocess.TimeoutExpired))
    return run


def test_what_is_stale_is_trained_anew_once_the_largest_study_first(tmp_path: Path, run: Mock) -> None:
    store(tmp_path, "ours", "python -m ablations run --seeds 9", str(ALGORITHM))
    for name in ("one", "two"):  # which a single command made
        store(tmp_path, name, "python -m ablations compare ppo 'ppo --no-gae'")
    store(tmp_path, "three", "python -m ablations run --seeds 3; python -m ablations run --seeds 3:5", tricks=2)
    store(tmp_path, "four", "python -m ablations")
    assert main(["refresh", "--out", str(tmp_path), "--workers", "3"]) == 0
    called = run.call_args_list.copy()
    store(tmp_path, "five", "", tricks=2)  # made from Python: it is left out, and the others are done
    assert main(["refresh", "--out", str(tmp_path), "--workers", "3"]) == 1 and run.call_args_list == 2 * called
    asked = ["run --seeds 3", "run", "compare ppo 'ppo --no-gae'"]
    own = [[sys.executable, *shlex.split(f"-m ablations {each} --out {tmp_path} --workers 3")] for each in asked]
    assert [(call.args[0], call.kwargs["timeout"]) for call in called] == [(words, None) for words in own]


@pytest.mark.parametrize("ends", [subprocess.TimeoutExpired("x", 0), [Mock(returncode=2)]])
def test_a_command_that_fails_or_takes_too_long_is_the_last(ends: Any, tmp_path: Path, run: Mock) -> None:
    run.side_effect = ends
    for seeds in (2, 3):
        store(tmp_path, f"study{seeds}", f"python -m ablations run --seeds {seeds}")
    assert main(["refresh", "--out", str(tmp_path), "--budget", "1.5h"]) == 1
    assert [call.kwargs["timeout"] for call in run.call_args_list] == [pytest.approx(5400, abs=60)]


@pytest.mark.parametrize("budget", ["90", "-2h", "2x"])
def test_a_budget_is_a_time(budget: str, tmp_path: Path, refuses: Refuses, run: Mock) -> None:
    store(tmp_path, "mine", "another program")
    words = ["refresh", "--out", str(tmp_path)]
    refuses(main, [*words, f"--budget={budget}"], "--budget must be a time such as 90m or 2h")
    assert not run.called
