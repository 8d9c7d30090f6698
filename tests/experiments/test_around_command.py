"""`run --base` and `run --design file.py:function`: from a question to a table, and what is refused."""

from pathlib import Path

import pandas as pd
import pytest

from ablations import cli

TINY = [f"--{each}" for each in ("env=tricks/Corridor-v0", "steps=320", "lanes=2", "horizon=16", "minibatches=2")]
MINE = """
from ablations import Arm, Comparison, Design
from tricks import PPO, REINFORCE

def arms():
    first, second, third = Arm("ppo", PPO), Arm("slow", PPO, {"lr": 1e-4}), Arm("bare", REINFORCE)
    return Design("mine", (), (first, second, third), (Comparison.of(second, first), Comparison.of(third, second)))

def nothing():
    return 3

def broken():
    return 1 / 0
"""


def test_a_design_from_a_file_trains_its_arms_and_makes_its_comparisons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    given = ["--design", f"{tmp_path}/mine.py:arms", *TINY, "--seeds=5", "--workers=1", f"--out={tmp_path}"]
    assert cli.main(["run", *given]) == 0
    assert "mine, on tricks/Corridor-v0: 3 arms × 5 seeds × 320 steps" in capsys.readouterr().out
    (table,) = tmp_path.glob("compare_*/table.csv")
    found = pd.read_csv(table, keep_default_na=False).set_index("arm")
    assert found.against.to_dict() == {"ppo": "", "slow": "ppo", "bare": "slow"}
    assert found.lr.to_dict() == {"ppo": 0.001, "slow": 1e-4, "bare": 0.001}
    assert cli.main(["report", f"--out={tmp_path}"]) == 0  # without a registry
    assert "tricks/Corridor-v0: mine" in (tmp_path / "report.md").read_text()


def test_a_factorial_around_a_base_says_what_each_trick_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["--base", "ppo --epochs 2", "--design", "factorial", "--tricks", "clip,entropy"]
    assert cli.main(["run", *base, *TINY, "--seeds=5", "--workers=1", f"--out={tmp_path}"]) == 0
    said = capsys.readouterr().out
    assert "| trick " in said
    (page,) = tmp_path.glob("compare_*/comparison.md")
    assert "### Main effects" in page.read_text()
    runs = pd.read_csv(page.with_name("runs.csv"))
    assert runs.numbers.str.contains("epochs=2").all()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--design", "{}/mine.py:nothing"], "returns int, not a Design"),
        (["--design", "{}/mine.py:broken"], "fails: ZeroDivisionError: division by zero"),
        (["--design", "{}/mine.py:other"], "has no function 'other'"),
        (["--design", "{}/gone.py:arms"], "there is no file"),
        (["--design", "{}/mine.py:arms", "--tricks", "clip"], "a design from a file has its own arms"),
        (["--base", "ppo", "--design", "scales"], "no design 'scales' around a base; there are leave-one-out"),
        (["--base", "ppo", "--no-gae"], "--no-gae belongs in the base"),
        (["--base", "ppo", "--target-kl", "0.1"], "target_kl has no effect in any arm"),
        (["--base", "poo"], "arm 'poo': unknown rung 'poo'"),
    ],
)
def test_what_is_no_design_is_refused_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    assert cli.main(["run", *(each.format(tmp_path) for each in arguments), f"--out={tmp_path}"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
