"""`python -m ablations worlds`: it trains both arms of each trial, resumes, tunes, and tries again what it has seen."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest

from ablations.analysis.choosing import chosen_means
from ablations.analysis.study_files import load_all
from ablations.cli import main
from ablations.design.flag_sets import flags, numbers
from ablations.design.trial import Dose, Trial, once
from ablations.experiments import worlds
from ablations.report import trials_section
from ablations.training import rate_table
from ablations.training.seed_ranges import ONCE_TUNED
from tricks import Config, InputError
from tricks.runs.files import HOST

TRIAL = Trial("baseline", (), once(Config("tricks/OffsetReward-v0", steps=400, lanes=2, horizon=10)), 1, "why")


@pytest.fixture(autouse=True)
def elsewhere() -> Iterator[None]:
    """Forgets the rates of a test's own table, and what was derived from them."""
    yield
    rate_table.table.cache_clear()
    chosen_means.cache_clear()


def test_the_command_trains_both_arms_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (worlds, trials_section):
        monkeypatch.setattr(module, "TRIALS", (TRIAL,))
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    rate_table.table.cache_clear()
    arguments = ["worlds", "--seeds", "2", "--workers", "1", "--out", str(tmp_path), "--tune"]
    assert main(arguments) == 0
    scores = rate_table.read_table(tmp_path / "learning_rates.csv")
    assert set(scores.tricks) == {"", "baseline"}
    assert set(scores.numbers) == {"lanes=2 horizon=10"}
    first = (tmp_path / "worlds.csv").read_text()
    frame = pd.read_csv(tmp_path / "worlds.csv")
    assert frame.difference[0] == pytest.approx(
        frame["with"][0] - frame.without[0], abs=1e-3
    )  # as far as it is written
    assert np.isnan(frame.low[0])  # two seeds have no interval
    assert all((tmp_path / f"worlds.{kind}").stat().st_size > 1000 for kind in ("png", "svg"))
    capsys.readouterr()
    assert main(arguments[:-1]) == 0
    assert "2 jobs, 2 of them done before" in capsys.readouterr().out
    assert (tmp_path / "worlds.csv").read_text() == first
    rate_table.table.cache_clear()


FIXED = (replace(TRIAL, rate=0.003), replace(TRIAL, rate=0.01))  # without a table, the rate of all arms is 0.003


@pytest.mark.parametrize("trials", [(FIXED[0], TRIAL, FIXED[1]), (TRIAL, *FIXED)], ids=["fixed first", "tuned first"])
def test_a_run_that_a_tuned_trial_and_one_at_a_fixed_rate_share_is_there_once(
    trials: tuple[Trial, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (worlds, trials_section):
        monkeypatch.setattr(module, "TRIALS", trials)
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    rate_table.table.cache_clear()
    for _ in range(2):  # the second time, it reads what it wrote
        assert main(["worlds", "--seeds", "2", "--workers", "1", "--out", str(tmp_path)]) == 0
    rate_table.table.cache_clear()
    (study,) = load_all(tmp_path)
    assert study.runs.groupby("lr").size().to_dict() == {0.003: 4, 0.01: 4}
    assert set(study.runs.tuned[study.runs.lr == 0.003]) == {"not tuned"}
    assert len(pd.read_csv(tmp_path / "worlds.csv")) == 3


def test_bad_input_is_one_line(refuses: Callable[..., None]) -> None:
    refuses(main, ["worlds", "--tricks", "glue"], "unknown trick glue; the tricks are baseline,")
    refuses(main, ["worlds", "--tricks", ","], "unknown trick")
    refuses(main, ["worlds", "--tricks", "clip,ppg"], "there is no trial for ppg; the tricks with trials are baseline,")
    refuses(main, ["worlds", "--env", "Mail"], "there is no trial in Mail; there are trials in tricks/Loan0Pay0.1-v0, ")
    refuses(
        main,
        ["worlds", "--env", "tricks/Mail-v0"],
        "there is no trial in tricks/Mail-v0 (did you mean tricks/Mail6-v0?)",
    )
    refuses(
        main,
        ["worlds", "--tricks", "clip", "--env", "Mail"],
        "no trial of clip in Mail; there are trials of clip in CartPole-v1",
    )
    refuses(main, ["worlds", "--seeds", "0"], "--seeds must name at least one seed")


def test_the_trials_in_a_world_have_files_of_its_whole_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = replace(TRIAL, doses=once(replace(TRIAL.config, env="tricks/Loan0Pay0.1-v0")))
    for module in (worlds, trials_section):
        monkeypatch.setattr(module, "TRIALS", (trial,))
    given = ["--seeds", "10:12", "--env", trial.env, "--workers", "1", "--out", str(tmp_path)]
    (tmp_path / f".worlds.csv.{HOST}.999999999").touch()  # what a process that was killed has left is removed
    assert main(["worlds", "--tricks", "baseline", *given]) == 0
    name = "worlds_baseline_tricks_Loan0Pay0.1-v0_from10"
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {
        f"{name}.{kind}" for kind in ("runs.csv.gz", "csv", "md", "png", "svg")
    }


def test_trials_are_picked_by_trick_and_by_the_environment_of_any_dose() -> None:
    assert {trial.trick for trial in worlds.picked("", "tricks/Mail3-v0")} == {"gae"}
    assert [trial.trick for trial in worlds.picked("baseline,entropy", "tricks/Loan0Pay0.1-v0")] == [
        "baseline",
        "entropy",
    ]
    assert len(worlds.picked("entropy")) == 3


@pytest.mark.parametrize(("count", "said"), [(2, "A, B"), (3, "A, B, C"), (4, "A, B, C and 1 others")])
def test_three_environments_are_named_where_none_is_meant(
    count: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tuple(replace(TRIAL, doses=once(replace(TRIAL.config, env=env))) for env in "ABCD"[:count])
    monkeypatch.setattr(worlds, "TRIALS", known)
    with pytest.raises(InputError, match=rf"there is no trial in Elsewhere; there are trials in {said}$"):
        worlds.picked("", "Elsewhere")


def test_a_trial_is_trained_on_the_device_that_was_asked_for_and_nothing_is_tried_again_unasked() -> None:
    assert {dose.config.device for dose in worlds.placed(TRIAL, "cuda:7").doses} == {"cuda:7"}
    usual = worlds.Options()
    assert (usual.confirm, usual.device, usual.workers, usual.out) == (False, "cpu", 0, Path("runs/ablations"))


def test_the_command_tries_again_what_it_has_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    weaker = Dose(0.5, replace(TRIAL.config, horizon=20))
    for module in (worlds, trials_section):
        monkeypatch.setattr(module, "TRIALS", (replace(TRIAL, doses=(weaker, *TRIAL.doses), varied="x"),))
    monkeypatch.setattr(worlds, "trial_table", lambda found: pd.DataFrame({"seen": [1] * len(found)}))
    assert main(["worlds", "--seeds", "5", "--confirm", "--workers", "1", "--out", str(tmp_path)]) == 0
    (study,) = load_all(tmp_path)
    assert study.again is not None
    assert set(study.again.runs.seed) == {*range(5, 10)}
    assert set(study.runs.numbers) == {"lanes=2 horizon=10", "lanes=2 horizon=20"}
    assert set(study.again.runs.numbers) == {"lanes=2 horizon=10"}  # at its largest dose


def store_rates(path: Path, monkeypatch: pytest.MonkeyPatch, areas: str) -> None:
    """Scores of both arms of TRIAL: by the area, 0.01 is the best rate, and by the last 10%, 0.03."""
    config = TRIAL.config
    arms = [(config.env, config.steps, numbers(config), flags(arm)) for arm in (TRIAL.without, TRIAL.having)]
    rows = [(*arm, *score, 1, areas) for arm in arms for score in ((0.01, 5.0, 1.0), (0.03, 5.0, 2.0))]
    monkeypatch.setattr(rate_table, "TABLE", path / "rates.csv")
    rate_table.store_table(pd.DataFrame(rows, columns=rate_table.COLUMNS))


@pytest.mark.parametrize(("score", "rate"), [("area", 0.01), ("late", 0.03)])
def test_a_trial_runs_at_the_rate_that_is_best_by_its_own_score(
    score: Literal["area", "late"], rate: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (worlds, trials_section):
        monkeypatch.setattr(module, "TRIALS", (replace(TRIAL, score=score),))
    store_rates(tmp_path, monkeypatch, "5")
    assert main(["worlds", "--seeds", "2", "--workers", "1", "--out", str(tmp_path)]) == 0
    assert set(load_all(tmp_path)[0].runs.lr) == {rate}


def test_a_second_try_on_seeds_that_chose_a_rate_is_refused_before_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(worlds, "TRIALS", (TRIAL,))
    store_rates(tmp_path, monkeypatch, "")  # nobody kept which seeds scored what
    before = ONCE_TUNED[0]
    command = ["worlds", "--seeds", f"{before - 2}:{before}", "--workers", "1", "--out", str(tmp_path), "--confirm"]
    assert main(command) == 2
    assert f"seeds {before} to {ONCE_TUNED[-1]} chose learning rates in {TRIAL.env}" in capsys.readouterr().err
    assert not list(tmp_path.glob("jobs/*.csv"))
