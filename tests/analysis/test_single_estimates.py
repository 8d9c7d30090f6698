"""Estimates by hand: known variances, single values, any statistic, and what a NaN in either arm does."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from support.studies import study

from ablations.analysis.estimates import known, paired, unpaired
from ablations.analysis.stats import FEWEST, improvement, interval
from ablations.design.designs import ladder
from ablations.findings.game_scores import mean_score


def test_a_difference_of_known_variance_is_normal() -> None:
    found = known(-1.0, 0.25)
    assert found == pytest.approx((-1, -1 - 1.959964 / 2, -1 + 1.959964 / 2, 2 * stats.norm.cdf(-2)))
    assert known(0.0, 0.0) == (0, 0, 0, 1)
    assert known(3.0, 0.0) == (3, 3, 3, 0)
    assert np.isnan(known(1.0, np.nan)[1:]).all()


def test_few_seeds_have_a_difference_of_means_and_nothing_else() -> None:
    found = unpaired(np.array([1.0, 2.0]), np.array([5.0, 9.0, 7.0]))
    assert found.mean == 1.5 - 7
    assert np.isnan(found[1:]).all()


def test_a_known_variance_as_large_as_the_shown_one_widens_the_interval() -> None:
    five = np.arange(5.0)  # of squared error 0.5, with 4 degrees of freedom; with as much again, 1 and 16
    found = paired(five, more=0.5)
    assert (found.low, found.high) == pytest.approx((2 - 2.119905, 2 + 2.119905), abs=1e-5)
    assert found.p == pytest.approx(2 * stats.t.cdf(-2, 16))


@pytest.mark.parametrize("statistic", [np.mean, np.std, np.median])
def test_an_interval_is_of_the_statistic_that_is_asked_for(statistic: Callable[..., np.ndarray]) -> None:
    values, rng = np.arange(6.0) ** 2, np.random.default_rng(0)
    found = statistic(values[rng.integers(0, 6, (5000, 6))], axis=1)
    tail = stats.norm.cdf(-stats.t.ppf(0.975, 5) * (6 / 5) ** 0.5)
    assert interval(values, statistic) == pytest.approx(np.quantile(found, [tail, 1 - tail]), rel=1e-6)


@pytest.mark.parametrize(("agents", "over"), [(FEWEST, "agents"), (FEWEST - 1, "games")])
def test_scores_of_games_are_averaged_over_enough_agents_and_else_over_all_games(agents: int, over: str) -> None:
    scores = [[10.0 * k, 10.0 * k + 1] for k in range(agents)]
    made = study(ladder(["baseline"]), lambda on: 0)
    made.about["games"] = {"trained": scores, "random": [[1.0]]}
    values = np.array(scores).mean(axis=1) if over == "agents" else np.array(scores).ravel()
    assert mean_score(made, "trained") == paired(values)


def test_a_nan_in_either_arm_leaves_no_improvement() -> None:
    whole, broken = np.arange(5.0), np.array([0.0, np.nan, 2.0, 3.0, 4.0])
    assert np.isnan(improvement(whole, broken))
    assert np.isnan(improvement(broken, whole))
    assert improvement(whole, whole) == 0.5
