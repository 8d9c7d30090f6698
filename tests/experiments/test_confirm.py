"""`run --confirm`: the arms of detected effects again, on the seeds that come next, kept apart from the first try."""

from pathlib import Path

import pytest

from ablations.analysis.study_files import load_all
from ablations.cli import main
from ablations.design.designs import ladder
from ablations.experiments import design_runs
from ablations.training.plan import plans
from ablations.training.seed_ranges import FIRST_TUNING_SEED
from ablations.training.what import What
from tricks.ladder import Tricks

TINY = ["run", "--tricks", "entropy,grad_clip", "--steps", "300", "--workers", "1"]


def test_only_the_arms_of_detected_effects_are_tried_again_and_the_report_shows_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rung = ladder(["grad_clip", "entropy"]).comparisons[0]
    arms = frozenset((rung.without, rung.having))
    monkeypatch.setattr(design_runs, "detected_arms", lambda study: arms)
    assert main([*TINY, "--seeds", "10", "--confirm", "--out", str(tmp_path)]) == 0
    assert "2 arms of detected effects again, on seeds 10 to 19" in capsys.readouterr().out
    (study,) = load_all(tmp_path)
    assert study.again is not None
    assert study.again.about["confirms"] == study.name
    assert set(study.again.runs.seed) == {*range(10, 20)}
    assert set(study.again.runs.tricks) == {"", "grad_clip"}
    assert set(study.again.runs.lr) == set(study.runs.lr)
    assert study.of(Tricks(entropy=True, grad_clip=True)).seed.tolist() == [*range(10)]
    assert main(["report", "--out", str(tmp_path)]) == 0


def test_seeds_that_a_second_try_may_not_have_are_refused_before_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last = f"{FIRST_TUNING_SEED - 30}:{FIRST_TUNING_SEED}"
    assert main([*TINY, "--seeds", last, "--confirm", "--out", str(tmp_path)]) == 2
    assert "are for tuning only, so seeds 1000000000 to 1000000029, which --confirm needs" in capsys.readouterr().err
    assert not list(tmp_path.glob("jobs/*.csv"))


def test_many_seeds_are_no_trouble_for_a_design_without_a_shared_arm() -> None:
    (plan,) = plans(What(design="ladder"), "430")  # a shared arm would have seeds 900 to 1329 in addition
    assert {seed for arm in plan.arms for seed in plan.seeds_of(arm)} == set(range(430))


def test_where_nothing_is_detected_nothing_is_tried_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "--seeds", "3", "--confirm", "--out", str(tmp_path)]) == 0  # too few to detect anything
    assert "no effect was detected, so there is none to confirm" in capsys.readouterr().out
    assert load_all(tmp_path)[0].again is None
