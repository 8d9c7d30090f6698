"""`run`, `sweep`, `random` and `worlds`: the numbers that are given hold for all arms, finished work is not done again,
and `--confirm` tries what was detected again, on the seeds that come next."""

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
from ablations.design.designs import ladder
from ablations.design.flag_sets import flags, numbers
from ablations.design.trial import Dose, Trial, once
from ablations.experiments import design_runs, worlds
from ablations.report import trials_section
from ablations.training import rate_table
from ablations.training.plan import plans
from ablations.training.seed_ranges import FIRST_TUNING_SEED, ONCE_TUNED
from ablations.training.what import What
from tricks import Config, InputError
from tricks.config import CONTINUOUS_CONFIG
from tricks.ladder import Tricks
from tricks.runs.files import HOST

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
Refuses = Callable[..., None]
FEW = ["run", "--tricks", "entropy,grad_clip", "--steps", "300", "--workers", "1"]
TINY = ["--steps", "1024", "--workers", "1"]
TRIAL = Trial("baseline", (), once(Config("tricks/OffsetReward-v0", steps=400, lanes=2, horizon=10)), 1, "why")


@pytest.fixture(autouse=True)
def trials(tmp_path: Path, monkeypatch: Patch) -> Iterator[Callable[..., None]]:
    """Sets the trials; the rates of a test's own table, and what was derived from them, are forgotten."""

    def these(*trials: Trial) -> None:
        monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
        for module in (worlds, trials_section):
            monkeypatch.setattr(module, "TRIALS", trials)
        rate_table.table.cache_clear()

    yield these
    rate_table.table.cache_clear()
    chosen_means.cache_clear()


def run_worlds(folder: Path, *more: str, seeds: str = "2") -> int:
    return main(["worlds", "--seeds", seeds, "--workers", "1", "--out", str(folder), *more])


def test_only_arms_of_detected_effects_are_tried_again(tmp_path: Path, monkeypatch: Patch, capsys: Capture) -> None:
    assert main([*FEW, "--seeds", "3", "--confirm", "--out", str(tmp_path)]) == 0  # too few to detect anything
    assert "no effect was detected, so there is none to confirm" in capsys.readouterr().out
    assert load_all(tmp_path)[0].again is None
    rung = ladder(["grad_clip", "entropy"]).comparisons[0]
    monkeypatch.setattr(design_runs, "detected_arms", lambda study: frozenset((rung.without, rung.having)))
    assert main([*FEW, "--seeds", "10", "--confirm", "--out", str(tmp_path)]) == 0
    assert "2 arms of detected effects again, on seeds 10 to 19" in capsys.readouterr().out
    (study,) = load_all(tmp_path)
    assert study.again is not None and study.again.about["confirms"] == study.name
    again = study.again.runs
    assert (set(again.seed), set(again.tricks)) == ({*range(10, 20)}, {"", "grad_clip"})
    assert set(again.lr) == set(study.runs.lr)
    assert study.of(Tricks(entropy=True, grad_clip=True)).seed.tolist() == [*range(10)]
    assert main(["report", "--out", str(tmp_path)]) == 0


def test_seeds_that_a_second_try_may_not_have_are_refused_before_the_first(
    tmp_path: Path, monkeypatch: Patch, refuses: Refuses, trials: Callable[..., None]
) -> None:
    last = f"{FIRST_TUNING_SEED - 30}:{FIRST_TUNING_SEED}"
    said = "are for tuning only, so seeds 1000000000 to 1000000029, which --confirm needs"
    refuses(main, [*FEW, "--seeds", last, "--confirm", "--out", str(tmp_path)], said)
    trials(TRIAL)
    store_rates("")  # nobody kept which seeds scored what
    before = ONCE_TUNED[0]
    command = ["worlds", "--seeds", f"{before - 2}:{before}", "--workers", "1", "--out", str(tmp_path), "--confirm"]
    refuses(main, command, f"seeds {before} to {ONCE_TUNED[-1]} chose learning rates in {TRIAL.env}")
    assert not list(tmp_path.glob("jobs/*.csv"))
    (plan,) = plans(What(design="ladder"), "430")  # a shared arm would have seeds 900 to 1329 in addition
    assert {seed for arm in plan.arms for seed in plan.seeds_of(arm)} == set(range(430))


def test_studies_sweeps_and_random_agents_have_the_numbers_that_are_given_or_the_preset_s(tmp_path: Path) -> None:
    given = ["--tricks", "clip,entropy", "--gamma", "0.9", "--lr", "0.01", "--hidden", "16", "16", "--seeds", "1"]
    assert main(["run", *given, *TINY, "--out", str(tmp_path)]) == 0
    (study,) = load_all(tmp_path)
    assert "gamma=0.9" in study.name
    assert (set(study.runs.numbers), set(study.runs.lr)) == ({"gamma=0.9 hidden=(16,16)"}, {0.01})
    (plan,) = plans(What(design="around-continuous", env="Pendulum-v1"), "10")
    assert (plan.config.horizon, plan.config.lr, plan.fixed) == (2048, CONTINUOUS_CONFIG.lr, True)
    (plan,) = plans(What(design="around-continuous", env="Pendulum-v1", numbers=(("horizon", 64),)), "10")
    assert (plan.config.horizon, plan.config.minibatches) == (64, 32) and "horizon=64" in plan.name
    vary = ["--lr", "0.001", "--vary", "epochs=1,2", "--env", "Pendulum-v1", "--seeds", "1"]
    assert main(["sweep", "--rung", "continuous", *vary, "--horizon", "64", *TINY, "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("*.sweep.csv")
    assert pd.read_csv(path).numbers.unique().tolist() == ["lanes=1 horizon=64 minibatches=32 value_epochs=10"]
    given = ["--draws", "20", "--gamma", "0.9", "--tricks", "baseline,clip"]
    assert main(["random", *given, *TINY, "--out", str(tmp_path)]) == 0
    (choices,), (agents,) = (list(tmp_path.glob(f"*gamma=0.9.{kind}")) for kind in ("choices.csv", "csv.gz"))
    assert "gamma" not in set(pd.read_csv(choices).choice)
    assert set(pd.read_csv(agents).gamma) == {0.9}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("tune --lr 0.1", "tune tries the rates of its own grid; leave out --lr"),
        ("run --target-kl 0.1", "target_kl has no effect in any arm"),
        ("run --gama 0.9", "unknown option --gama (did you mean --gamma?)"),
        ("run --gamma x", "gamma"),
        ("run --gamma 2", "gamma must be"),
        ("run --suite worlds --gamma 0.9", "--suite worlds has its own designs and budgets; leave out --gamma"),
        ("run --design ppo,around-continuous", "the arms of these designs have different numbers"),
        ("sweep --vary epochs=1,2 --epochs 3", "this sweep varies epochs, so leave out --epochs"),
        ("sweep --vary lr=0.1,0.2 --lr 0.1", "this sweep varies lr, so leave out --lr"),
        ("random --target-kl 0.1", "target_kl has no effect in any arm"),
        ("worlds --tricks glue", "unknown trick glue; the tricks are baseline,"),
        ("worlds --tricks ,", "unknown trick"),
        ("worlds --tricks clip,ppg", "there is no trial for ppg; the tricks with trials are baseline,"),
        ("worlds --env Mail", "there is no trial in Mail; there are trials in tricks/Loan0Pay0.1-v0, "),
        ("worlds --env tricks/Mail-v0", "there is no trial in tricks/Mail-v0 (did you mean tricks/Mail6-v0?)"),
        ("worlds --tricks clip --env Mail", "no trial of clip in Mail; there are trials of clip in CartPole-v1"),
        ("worlds --seeds 0", "--seeds must name at least one seed"),
    ],
)
def test_what_cannot_be_is_one_line(words: str, said: str, refuses: Refuses) -> None:
    refuses(main, words.split(), said)


def test_worlds_trains_both_arms_and_goes_on(tmp_path: Path, trials: Callable[..., None], capsys: Capture) -> None:
    trials(TRIAL)
    assert run_worlds(tmp_path, "--tune") == 0
    scores = rate_table.read_table(tmp_path / "learning_rates.csv")
    assert (set(scores.tricks), set(scores.numbers)) == ({"", "baseline"}, {"lanes=2 horizon=10"})
    first, frame = (tmp_path / "worlds.csv").read_text(), pd.read_csv(tmp_path / "worlds.csv")
    assert frame.difference[0] == pytest.approx(frame["with"][0] - frame.without[0], abs=1e-3)  # as it is written
    assert np.isnan(frame.low[0])  # two seeds have no interval
    assert all((tmp_path / f"worlds.{kind}").stat().st_size > 1000 for kind in ("png", "svg"))
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
    trial = replace(TRIAL, doses=once(replace(TRIAL.config, env="tricks/Loan0Pay0.1-v0")))
    trials(trial)
    (tmp_path / f".worlds.csv.{HOST}.999999999").touch()  # what a process that was killed has left is removed
    assert run_worlds(tmp_path, "--tricks", "baseline", "--env", trial.env, seeds="10:12") == 0
    name = "worlds_baseline_tricks_Loan0Pay0.1-v0_from10"
    files = {f"{name}.{kind}" for kind in ("runs.csv.gz", "csv", "md", "png", "svg")}
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == files


def test_trials_are_picked_by_trick_and_by_the_environment_of_any_dose(trials: Callable[..., None]) -> None:
    assert {trial.trick for trial in worlds.picked("", "tricks/Mail3-v0")} == {"gae"}
    found = worlds.picked("baseline,entropy", "tricks/Loan0Pay0.1-v0")
    assert ([trial.trick for trial in found], len(worlds.picked("entropy"))) == (["baseline", "entropy"], 3)
    for count, said in ((2, "A, B"), (3, "A, B, C"), (4, "A, B, C and 1 others")):
        trials(*(replace(TRIAL, doses=once(replace(TRIAL.config, env=env))) for env in "ABCD"[:count]))
        with pytest.raises(InputError, match=rf"there is no trial in Elsewhere; there are trials in {said}$"):
            worlds.picked("", "Elsewhere")
    assert {dose.config.device for dose in worlds.placed(TRIAL, "cuda:7").doses} == {"cuda:7"}
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


def store_rates(areas: str) -> None:
    """Scores of both arms of TRIAL: by the area, 0.01 is the best rate, and by the last 10%, 0.03."""
    config = TRIAL.config
    arms = [(config.env, config.steps, numbers(config), flags(arm)) for arm in (TRIAL.without, TRIAL.having)]
    rows = [(*arm, *score, 1, areas) for arm in arms for score in ((0.01, 5.0, 1.0), (0.03, 5.0, 2.0))]
    rate_table.store_table(pd.DataFrame(rows, columns=rate_table.COLUMNS))


@pytest.mark.parametrize(("score", "rate"), [("area", 0.01), ("late", 0.03)])
def test_trials_run_at_their_best_rate(
    score: Literal["area", "late"], rate: float, tmp_path: Path, trials: Callable[..., None]
) -> None:
    trials(replace(TRIAL, score=score))
    store_rates("5")
    assert (run_worlds(tmp_path), set(load_all(tmp_path)[0].runs.lr)) == (0, {rate})
