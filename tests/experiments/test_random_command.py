"""`python -m ablations random`: what it stores, and that it resumes."""

from pathlib import Path

import pandas as pd
import pytest

from ablations.cli import main

ARGUMENTS = ["random", "--draws", "20", "--tricks", "baseline,gae", "--steps", "400", "--workers", "1", "--out"]


def test_every_agent_and_every_choice_is_stored_and_a_second_run_trains_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ARGUMENTS, str(tmp_path)]) == 0
    assert "20 agents in 2 jobs, 0 of them done before" in capsys.readouterr().out
    name = "random_CartPole-v1_20draws_baseline-gae_400steps"
    agents = pd.read_csv(tmp_path / f"{name}.csv.gz")
    assert agents.seed.tolist() == list(range(20))
    assert agents.score.between(1, 500).all()
    assert agents.lr.nunique() == 20  # one rate per agent
    assert agents[agents.gae].baseline.all()  # what gae needs

    choices = pd.read_csv(tmp_path / f"{name}.choices.csv")
    assert choices[choices.choice == "lr"].agents.sum() == 20
    table = (tmp_path / f"{name}.md").read_text()
    assert (
        f"`{choices.sort_values('explained').choice.iloc[-1]}`" in table.splitlines()[2]
    )  # what explains most is first

    assert main([*ARGUMENTS, str(tmp_path)]) == 0
    assert "20 agents in 2 jobs, 2 of them done before" in capsys.readouterr().out
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / f"{name}.csv.gz"), agents)
