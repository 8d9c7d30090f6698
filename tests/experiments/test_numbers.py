"""Numbers as options: those of `train` hold for all arms of `run`, `tune`, `sweep` and `random`, or are refused."""

from pathlib import Path

import pandas as pd
import pytest

from ablations.analysis.study_files import load
from ablations.cli import main
from ablations.training.plan import plans
from ablations.training.what import What
from tricks.config import CONTINUOUS_CONFIG

TINY = ["--steps", "1024", "--workers", "1"]


def test_a_study_trains_with_the_numbers_that_were_given_and_is_named_for_them(tmp_path: Path) -> None:
    given = ["--tricks", "clip,entropy", "--gamma", "0.9", "--lr", "0.01", "--hidden", "16", "16", "--seeds", "1"]
    assert main(["run", *given, *TINY, "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("*.runs.csv.gz")
    assert "gamma=0.9" in path.name
    runs = load(path).runs
    assert set(runs.numbers) == {"gamma=0.9 hidden=(16,16)"}
    assert set(runs.lr) == {0.01}


def test_designs_around_a_preset_have_its_numbers_unless_others_are_given() -> None:
    (plan,) = plans(What(design="around-continuous", env="Pendulum-v1"), "10")
    assert (plan.config.horizon, plan.config.lr, plan.fixed) == (2048, CONTINUOUS_CONFIG.lr, True)
    (plan,) = plans(What(design="around-continuous", env="Pendulum-v1", numbers=(("horizon", 64),)), "10")
    assert (plan.config.horizon, plan.config.minibatches) == (64, 32)
    assert "horizon=64" in plan.name


def test_a_sweep_of_a_preset_has_its_numbers(tmp_path: Path) -> None:
    vary = ["--lr", "0.001", "--vary", "epochs=1,2", "--env", "Pendulum-v1", "--seeds", "1"]
    assert main(["sweep", "--rung", "continuous", *vary, "--horizon", "64", *TINY, "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("*.sweep.csv")
    assert pd.read_csv(path).numbers.unique().tolist() == ["lanes=1 horizon=64 minibatches=32 value_epochs=10"]


def test_random_agents_share_a_number_that_is_given(tmp_path: Path) -> None:
    assert (
        main(["random", "--draws", "20", "--gamma", "0.9", "--tricks", "baseline,clip", *TINY, "--out", str(tmp_path)])
        == 0
    )
    (path,) = tmp_path.glob("*gamma=0.9.choices.csv")
    assert not {"gamma"} & set(pd.read_csv(path).choice)
    (path,) = tmp_path.glob("*gamma=0.9.csv.gz")
    assert set(pd.read_csv(path).gamma) == {0.9}


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
    ],
)
def test_a_number_that_cannot_be_is_one_line(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert said in err
    assert err.count("\n") == 1
