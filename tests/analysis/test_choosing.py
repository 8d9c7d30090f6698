"""The noise of choosing a learning rate: none where one rate is clearly best, and found where several are close."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ablations.analysis import choosing
from ablations.analysis.choosing import choice_variance, choices, chosen_means
from ablations.training import rate_table
from ablations.training.rate_table import COLUMNS, joined, store_table

ARM = ("x", 9, "", "gae")


def stored(by_rate: dict[float, list[float]]) -> None:
    rows = [
        (*ARM, lr, float(np.mean(areas)), float(np.mean(areas)), len(areas), joined(areas))
        for lr, areas in by_rate.items()
    ]
    store_table(pd.DataFrame(rows, columns=COLUMNS))
    choice_variance.cache_clear()
    chosen_means.cache_clear()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    yield
    rate_table.table.cache_clear()
    choice_variance.cache_clear()
    chosen_means.cache_clear()


def test_a_rate_that_is_clearly_best_is_always_chosen() -> None:
    stored({0.01: [90.0, 100.0, 110.0], 0.03: [10.0, 20.0, 30.0]})
    assert choice_variance(*ARM, 0.01) == 0


def test_two_rates_that_are_equally_good_cost_a_quarter_of_their_squared_distance() -> None:
    even = [0.0, 10.0] * 500
    stored({0.01: [x + 0.002 for x in even], 0.03: even})
    assert choice_variance(*ARM, 0.01) == pytest.approx(0.002**2 / 4, rel=0.01)


def test_arms_share_the_noise_of_the_seeds_that_they_were_tuned_on() -> None:
    few, more = np.random.default_rng(0).normal(size=(2, 20))
    stored({0.01: list(few), 0.03: list(more)})
    alone = chosen_means(*ARM, 0.01 if few.mean() > more.mean() else 0.03)
    stored({0.01: list(few + 5), 0.03: list(more + 5)})
    shifted = chosen_means(*ARM, 0.01 if few.mean() > more.mean() else 0.03)
    assert alone is not None
    assert shifted is not None
    assert alone.std() > 0
    assert np.ptp(shifted - alone) < 1e-3  # each draw chooses the same rate for both, and the table rounds


def test_a_rate_at_which_an_episode_never_ended_is_never_chosen() -> None:
    areas = [np.array([1.0, 2.0, 3.0]), np.array([90.0, 100.0, np.nan])]
    assert (choices(areas) == 0).all()


def test_every_seed_is_drawn_as_often_as_any_other() -> None:
    """The mean of two draws of 10 and 0 is above 5.1 if both are 10, one time in four, in whichever order they are."""
    for seeds in ([10.0, 0.0], [0.0, 10.0]):
        found = choices([np.array(seeds), np.full(2, 5.1)], resamples=4000)
        assert (found == 0).mean() == pytest.approx(0.25, abs=0.03)


def test_a_rate_left_behind_after_the_first_look_can_still_win_another_time() -> None:
    noise = np.random.default_rng(0).normal(size=10)
    areas = [np.concatenate([noise, noise]) + k for k in (0.2, 0.1, 0.0)] + [noise + 0.05]
    share = np.bincount(choices(areas), minlength=4) / choosing.RESAMPLES
    assert share.argmax() == 0
    assert share[3] > 0.05


def test_the_second_look_is_for_the_three_that_did_best_at_the_first() -> None:
    """Without noise, every draw finds the same: second, third, and fifth get the second look, and the second wins."""
    looks = ([3.0], [5.0, 20.0], [9.0, 0.0], [2.0], [7.0, 0.0])
    assert set(choices([np.repeat(each, 5) for each in looks])) == {1}
    worse = ([3.0], [5.0, 0.0], [9.0, -5.0], [2.0], [7.0, -4.0])  # the fourth would win, but had no second look
    assert set(choices([np.repeat(each, 5) for each in worse])) == {1}


def test_where_the_seeds_scores_are_not_known_or_chose_another_rate_nothing_is_said() -> None:
    stored({0.01: [1.0, 2.0], 0.03: [3.0, 4.0]})
    assert np.isnan(choice_variance(*ARM, 0.01))
    assert np.isnan(choice_variance("y", 9, "", "gae", 0.03))
    assert choice_variance(*ARM, 0.03) >= 0
    rows = [(*ARM, 0.01, 1.0, 1.0, 2, ""), (*ARM, 0.03, 3.5, 3.5, 2, "3 4")]  # known of one of two rates
    store_table(pd.DataFrame(rows, columns=COLUMNS))
    choice_variance.cache_clear()
    assert np.isnan(choice_variance(*ARM, 0.03))
    assert chosen_means(*ARM, 0.03) is None
    store_table(pd.DataFrame([(*ARM, 0.03, 1.0, 1.0, 5, "")], columns=COLUMNS))
    choice_variance.cache_clear()
    assert np.isnan(choice_variance(*ARM, 0.03))
