"""The user's own numbers, from infos, in comparisons: in the stored jobs, the curves, and what `read` gives."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.any_space import AnySpace

from ablations import cli, compare, judge, read
from ablations.analysis.compared import moved
from ablations.report import judged_page
from tricks import PPO, REINFORCE, Config, InputError, train

SMALL = Config("own", steps=64, lanes=2, horizon=16, minibatches=2, hidden=(4,), record=("level", "cost:sum", "never"))


class Costly(AnySpace):
    """Episodes of five steps. A step costs 1 if its action is 1; the level is 5 at the end."""

    def step(self, action: Any) -> Any:
        self.taken = int(action)
        return super().step(action)

    def info(self) -> dict[str, Any]:
        return {"level": self.t, "cost": self.taken, "study": "text"} if self.t else {}


def test_the_columns_of_a_comparison_are_those_of_its_runs(tmp_path: Path) -> None:
    arms = {"one": REINFORCE, "other": PPO}
    found = compare(arms, SMALL, env=Costly, seeds=(0, 3), out=tmp_path, workers=1)
    again = compare(arms, SMALL, env=Costly, seeds=(0, 3), out=tmp_path, workers=1)  # from the stored jobs
    for curves in (found.curves, again.curves, read(found.files[0].parent).curves):
        assert set(curves.level.dropna()) == {5}
        assert "never" not in curves  # as any column without a number
        for name, tricks in arms.items():
            alone = train(Config(**{**vars(SMALL), "seeds": (0, 3)}), tricks, env=Costly).curve
            mine = curves[curves.arm == name].reset_index()
            pd.testing.assert_series_equal(mine["cost"], alone["cost"], check_exact=False, rtol=1e-4)


def test_other_records_are_another_comparison(tmp_path: Path) -> None:
    folders = set()
    for record in ((), ("level",), ("cost",), ("cost:sum",)):
        config = Config(**{**vars(SMALL), "record": record})
        found = compare(["ppo", "reinforce"], config, env=Costly, seeds=1, out=tmp_path, workers=1)
        folders.add(found.files[0].parent)
        assert list(found.curves.columns[-len(record) :]) == [name.split(":")[0] for name in record] or not record
    assert len(folders) == 4


def test_a_verdict_names_the_records_that_a_trick_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def listening(curves: pd.DataFrame, without: str, having: str, recorded: Any = ()) -> pd.DataFrame:
        seen.append([each for each in recorded if each in curves])
        return moved(curves, without, having, recorded)

    monkeypatch.setattr(judged_page, "moved", listening)
    wrap = "gymnasium.wrappers:RecordEpisodeStatistics"
    config = Config(**{**vars(SMALL), "env": "CartPole-v1", "wrap": wrap, "record": "episode.r"})
    judge("gae", configs=[config], out=tmp_path, seeds=2, rates=(0.01,), rate_seeds=2, workers=1)
    assert seen == [["episode.r"]]


@pytest.mark.parametrize("name", ["arm", "study", "env"])
def test_a_record_cannot_have_the_name_of_a_column_that_tables_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=f"record: tables of several runs have a column '{name}', so info's '{name}' cannot"
    ):
        train(Config(**{**vars(SMALL), "record": (name,)}), PPO, env=Costly)
    arguments = ["compare", "ppo", "reinforce", "--record", name, "--seeds", "1", "--out", str(tmp_path)]
    assert cli.main([*arguments, "--env", "CartPole-v1", "--steps", "50", "--workers", "1"]) == 2
