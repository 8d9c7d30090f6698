"""Learning rates: each arm at its own, tuned on seeds that are never reported."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ablations.design.choice import usable
from ablations.design.designs import ladder
from ablations.design.flag_sets import flags
from ablations.training import rate_table, rates
from tricks import REINFORCE, Config


def test_every_arm_of_the_main_job_has_its_own_tuned_rate_inside_the_grid() -> None:
    scores = rate_table.table()
    for arm in ladder(list(usable(Config("CartPole-v1")))).arms:
        mine = scores[(scores.env == "CartPole-v1") & (scores.tricks == flags(arm.tricks))]
        assert set(mine.lr) >= set(rate_table.GRID)
        best = mine[mine.seeds == mine.seeds.max()].set_index("lr").area.idxmax()
        assert rates.best_rate(Config(), arm.tricks) == (best, "")
        assert rates.best_rate(Config(steps=9), arm.tricks) == (best, "tuned at 100,000 steps")
    assert rates.best_rate(Config(env="Nowhere-v0"), REINFORCE) == (0.003, "not tuned")


def test_a_rate_that_lost_at_the_first_look_is_not_chosen_however_well_it_did_there() -> None:
    """Ten lucky seeds can be ahead of twenty honest ones."""
    looks = [(0.001, 9.0, 9.0, 10), (0.003, 5.0, 4.0, 20), (0.01, 6.0, 3.0, 20), (0.03, 1.0, 5.0, 20)]
    rows = pd.DataFrame(looks, columns=["lr", "area", "late", "seeds"])
    assert rate_table.best_of(rows) == 0.01
    assert rate_table.best_of(rows, "late") == 0.03

    rows.loc[3, "area"] = np.nan  # no episode ended
    assert rate_table.best_of(rows) == 0.01


def test_a_budget_without_rates_borrows_those_of_the_largest_that_has_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [("x", steps, "", "", lr, 1.0, 1.0, 1, "1") for steps, lr in ((10, 0.1), (1000, 0.01), (100, 0.03))]
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    rate_table.store_table(pd.DataFrame(rows, columns=rate_table.COLUMNS))
    found = [rates.best_rate(Config(env="x", steps=steps), REINFORCE) for steps in (5, 10, 50, 5000)]
    rate_table.table.cache_clear()
    assert [value for value, _ in found] == [0.01, 0.1, 0.01, 0.01]
    assert [said for _, said in found] == ["tuned at 1,000 steps", "", "tuned at 1,000 steps", "tuned at 1,000 steps"]


def test_an_arm_has_the_rows_of_its_own_setting_and_an_edge_at_either_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = ("x", 10, "lanes=2", "gae")
    others = [("y", *mine[1:]), ("x", 11, *mine[2:]), ("x", 10, "lanes=3", "gae"), (*mine[:3], "clip")]
    rows = [(*mine, lr, 1.0, 1.0, 1, "1") for lr in (0.1, 0.001, 0.03)]
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    rows += [(*other, lr, 1.0, 1.0, 1, "1") for other in others for lr in (0.0003, 0.3)]
    rate_table.store_table(pd.DataFrame(rows, columns=rate_table.COLUMNS))
    found = rate_table.rows_of(*mine).lr.tolist()
    edges = {lr: rates.at_edge(*mine, lr) for lr in found}
    unknown = rates.at_edge("z", *mine[1:], 0.1)
    rate_table.table.cache_clear()
    assert found == [0.001, 0.03, 0.1]  # in order, whatever the order in which they were stored
    assert edges == {0.001: True, 0.03: False, 0.1: True}
    assert not unknown
