"""Learning rates: each arm at its own, tuned on seeds that are never reported."""

from pathlib import Path

import pytest

from ablations.design.choice import usable
from ablations.design.designs import ladder
from ablations.design.flag_sets import flags
from ablations.training import rate_table, rates
from ablations.training.store import Store
from tricks import REINFORCE, Config


def test_every_arm_of_the_main_job_has_its_own_tuned_rate_inside_the_grid() -> None:
    scores = rate_table.table()
    for arm in ladder(list(usable(Config("CartPole-v1")))).arms:
        mine = scores[(scores.env == "CartPole-v1") & (scores.tricks == flags(arm.tricks))]
        assert set(mine.lr) >= set(rate_table.GRID)
        best = mine.set_index("lr").area.idxmax()
        assert rates.best_rate(Config(), arm.tricks) == (best, "")
        assert rates.best_rate(Config(steps=9), arm.tricks) == (best, "tuned at 100,000 steps")
    assert rates.best_rate(Config(env="Nowhere-v0"), REINFORCE) == (rates.UNTUNED, "not tuned")


def test_tuning_scores_every_rate_on_seeds_that_are_never_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    rate_table.table.cache_clear()
    arms = [(Config(steps=200), arm.tricks) for arm in ladder(list(usable(Config("CartPole-v1")))).arms[:2]]
    store = Store(tmp_path)
    scores = rates.tune(arms, store, workers=1, seeds=2)
    assert len(scores) == len(arms) * len(rate_table.GRID)
    assert rates.best_rate(*arms[0])[1] == ""
    trained = rates.tuning_job(*arms[0], 2).config
    assert min(trained.seed_list) >= rates.FIRST_TUNING_SEED
    assert trained.rates == tuple(sorted([*rate_table.GRID, *rate_table.GRID]))
    rates.tune(arms[:1], store, workers=1, seeds=1)  # replaces the first arm's scores, and no others
    assert rate_table.table().groupby("tricks").seeds.unique().map(list).to_dict() == {"": [1], "baseline": [2]}
    rate_table.table.cache_clear()
