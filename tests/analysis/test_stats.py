"""Statistics: cases worked by hand, and how well intervals, tests and Holm's correction keep their promise on seeds.

No interval can account for a failure that none of its seeds showed: with 5 seeds, a 20% failure goes unseen one time
in three; with 10, one time in ten.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.studies import bimodal, study

from ablations.analysis import stats as module
from ablations.analysis.estimates import holm, known, paired, unpaired
from ablations.analysis.stats import FEWEST, improvement, interval, iqm, normalized, stratified_interval
from ablations.design.designs import ladder
from ablations.findings.game_scores import mean_score

SEEDS: dict[str, Callable] = {  # quantile functions: where the truth is known, and samples are drawn
    "normal": stats.norm.ppf,
    "exponential": lambda u: -np.log1p(-u),
    "bimodal": lambda u: bimodal(u, 0.4),
    "rare failure": lambda u: bimodal(u, 0.2),
}
SEEN = {  # coverage of the nominal 95% over 2,000 sets of 5, 10, 20, 30 seeds; of a plain bootstrap, up to 0.09 less
    (np.mean, "normal"): (0.921, 0.947, 0.945, 0.948),
    (np.mean, "exponential"): (0.865, 0.914, 0.917, 0.933),
    (np.mean, "bimodal"): (0.910, 0.962, 0.957, 0.957),
    (np.mean, "rare failure"): (0.684, 0.887, 0.934, 0.941),
    (iqm, "normal"): (0.939, 0.979, 0.961, 0.955),
    (iqm, "exponential"): (0.936, 0.979, 0.961, 0.955),
    (iqm, "bimodal"): (0.910, 0.976, 0.960, 0.960),
}
CASES = [(*what, count, seen) for what, row in SEEN.items() for count, seen in zip((5, 10, 20, 30), row, strict=True)]


@pytest.mark.parametrize(("statistic", "name", "count", "seen"), CASES)
def test_an_interval_covers_as_often_as_the_table_says(statistic: Callable, name: str, count: int, seen: float) -> None:
    truth = statistic(SEEDS[name]((np.arange(100_000) + 0.5) / 100_000))
    trials = 400 if statistic is np.mean else 200
    samples = SEEDS[name](np.random.default_rng(count).random((count, trials)))
    low, high = interval(samples, statistic)  # a column a sample: see the next test
    coverage = ((low <= truth) & (truth <= high)).mean()
    error = (seen * (1 - seen) * (1 / trials + 1 / 2000)) ** 0.5  # of both this number and the table's
    assert abs(coverage - seen) <= 2.5 * error + 0.005  # a last half percent for other versions' random numbers
    if statistic is np.mean and count >= 10 and name in ("normal", "bimodal"):
        assert 0.93 <= coverage <= 0.98


@pytest.mark.parametrize("statistic", [np.mean, iqm])
def test_an_interval_of_columns_is_each_columns_own(statistic: Callable) -> None:
    samples = np.random.default_rng(0).exponential(size=(10, 7))
    low, high = found = interval(samples, statistic)
    assert low.shape == high.shape == (7,)
    for i in range(7):
        assert interval(samples[:, i], statistic) == (pytest.approx(low[i]), pytest.approx(high[i]))
    np.testing.assert_array_equal(interval(samples, statistic), found)


@pytest.mark.parametrize("statistic", [np.mean, np.std, np.median])
def test_an_interval_is_two_quantiles_of_the_resampled_statistic(statistic: Callable[..., np.ndarray]) -> None:
    values, rng = np.arange(6.0) ** 2, np.random.default_rng(0)
    found = statistic(values[rng.integers(0, 6, (5000, 6))], axis=1)
    tail = stats.norm.cdf(-stats.t.ppf(0.975, 5) * (6 / 5) ** 0.5)
    assert interval(values, statistic) == pytest.approx(np.quantile(found, [tail, 1 - tail]), rel=1e-6)
    assert interval(values) == interval(values, np.mean)


def test_there_is_no_interval_of_a_nan_or_of_too_few() -> None:
    values = np.arange(FEWEST, dtype=float)
    assert all(np.isfinite(interval(values)))
    for broken in (values[1:], np.array([*values, np.nan])):
        assert all(np.isnan(interval(broken)))
        found = stratified_interval([values, broken])
        assert all(np.isnan(found[1:]))
        assert np.isnan(found.value) == np.isnan(broken).any()
        for pair in ((broken, broken), (values, broken), (broken, values)):  # a NaN in either arm
            assert np.isnan(improvement(*pair)) == np.isnan(broken).any()
        assert all(np.isnan(paired(broken)[1:]))
    curves = np.full((FEWEST, 2), 3.0)
    assert [x.tolist() for x in interval(curves)] == [[3, 3], [3, 3]]
    curves[0, 0] = np.nan
    assert np.isnan(interval(curves)).tolist() == [[True] * 2] * 2  # its other columns are of the same broken run


def test_the_interquartile_mean_leaves_a_quarter_out_on_either_side() -> None:
    assert iqm(np.array([900.0, 1.0, 2.0, 3.0, -50.0])) == 2  # ⌊5 / 4⌋ = 1 on either side
    assert iqm(np.array([[9.0, 0.0, 4.0, 1.0], [8.0, 2.0, 3.0, 5.0]]), axis=1).tolist() == [2.5, 4]
    assert np.isnan(iqm(np.array([1.0, 2.0, 3.0, 4.0, np.nan])))
    many = np.random.default_rng(0).normal(size=(31, 4, 3))
    for axis in (0, 1, -1):
        np.testing.assert_allclose(iqm(many, axis), stats.trim_mean(many, 0.25, axis))


def test_environments_weigh_the_same_and_their_seeds_are_resampled_apart() -> None:
    few, many = np.array([0.0, 0.1, 0.2, 0.3, 0.4]), np.linspace(0.6, 1.0, 15)
    assert stratified_interval([few, many], np.mean).value == pytest.approx((0.2 + 0.8) / 2)
    assert stratified_interval([few, many], np.max).value == 1
    # each of `few` counts three times: without the 7 lowest and the 7 highest of 30
    assert stratified_interval([few, many]).value == pytest.approx((2 * 0.2 + 3 * 0.3 + 3 * 0.4 + many[:8].sum()) / 16)
    low, high = np.arange(5.0), 1000 + np.arange(5.0)
    found, one = stratified_interval([low, high], np.mean), stratified_interval([low], np.mean)
    assert found.value == 502
    assert 500 <= found.low < 501.5 < 502.5 < found.high <= 504  # mixed, it would reach from about 0 to 1000
    assert one[1:] == interval(low)
    assert found.high - found.low == pytest.approx((one.high - one.low) / 2**0.5, rel=0.15)  # drawn independently


def test_paired_is_students_t_of_the_differences() -> None:
    values, five = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.arange(5.0)
    found, reach = paired(values), 2.776445 * (2.5 / 5) ** 0.5
    assert found[:3] == pytest.approx((3, 3 - reach, 3 + reach), abs=1e-5)
    # P(|t| > x) of 4 degrees of freedom: 1 - s (3 - s²) / 2 with s = x / √(x² + 4), and x² = 18
    s = (18 / 22) ** 0.5
    assert paired(-values).p == found.p == pytest.approx(1 - s * (3 - s**2) / 2)
    having, without = np.random.default_rng(0).normal(size=(2, 8))
    assert paired(having - without).p == pytest.approx(stats.ttest_rel(having, without).pvalue)
    assert paired(np.arange(FEWEST - 1.0)).mean == 1.5
    assert paired(five, more=0.1) == paired(five)  # more degrees of freedom would make it narrower
    more = paired(five, more=0.5)  # as much again as the squared error of 4 degrees of freedom: 1 and 16
    assert (more.low, more.high) == pytest.approx((2 - 2.119905, 2 + 2.119905), abs=1e-5)
    assert more.p == pytest.approx(2 * stats.t.cdf(-2, 16))


def test_unpaired_is_welchs_t_of_two_samples() -> None:
    having, without = np.array([3.0, 4.0, 8.0, 5.0, 9.0, 7.0]), np.array([1.0, 2.0, 2.5, 0.0, 3.0])
    welch = stats.ttest_ind(having, without, equal_var=False)
    assert unpaired(having, without) == pytest.approx((4.3, *welch.confidence_interval(0.95), welch.pvalue))
    few = unpaired(having, without[:4])
    assert few.mean == pytest.approx(6 - 5.5 / 4)  # of few seeds nothing else
    assert np.isnan(few[1:]).all()
    assert unpaired(np.full(60, 0.1), np.full(30, 0.1)) == (0, 0, 0, 1)  # means of 0.1 differ in the last digit


@pytest.mark.filterwarnings("error")
def test_differences_without_variance_are_certain_or_none_and_those_of_known_variance_are_normal() -> None:
    assert paired(np.zeros(6)) == known(0.0, 0.0) == (0, 0, 0, 1)
    assert paired(np.full(6, -2.0)) == known(-2.0, 0.0) == (-2, -2, -2, 0)
    assert unpaired(np.ones(5), np.zeros(5)) == (1, 1, 1, 0)
    assert paired(np.full(6, 0.1)).p == 0  # its standard deviation is 1e-17
    normal = pytest.approx((1, 1 - 1.959964 / 2, 1 + 1.959964 / 2, 2 * stats.norm.cdf(-2)))
    assert paired(np.ones(5), more=0.25) == unpaired(np.ones(5), np.zeros(5), more=0.25) == normal
    assert known(-1.0, 0.25) == pytest.approx((-1, -1 - 1.959964 / 2, -1 + 1.959964 / 2, 2 * stats.norm.cdf(-2)))
    assert np.isnan(known(1.0, np.nan)[1:]).all()


def test_improvement_counts_pairs_won_and_a_score_is_a_share_of_the_way_to_the_ceiling() -> None:
    having, without = np.array([1.0, 2.0, 3.0, 9.0, 9.0]), np.array([2.0, 2.0, 0.0, 9.0, 5.0])
    share = (1 + (1 + 1 / 2 + 1 / 2) + 3 + 2 * (4 + 1 / 2)) / 25
    assert improvement(having, without) == pytest.approx(share)
    assert improvement(having, without) == pytest.approx(stats.mannwhitneyu(having, without).statistic / 25)
    assert improvement(without, having) == pytest.approx(1 - share)
    assert (improvement(having + 10, having), improvement(having, having)) == (1, 0.5)
    assert normalized(np.array([-500.0, -80.0, -290.0]), -500, -80).tolist() == [0, 1, 0.5]


def test_a_threshold_is_reached_by_a_tenth_of_the_budget_and_the_times_to_it_are_censored() -> None:
    times = pd.Series([20, np.nan, 10, 40, np.nan], index=[3, 4, 5, 6, 7])
    assert module.restricted_mean(times, 40) == (20 + 40 + 10 + 40 + 40) / 5
    assert module.restricted_mean(times, 15) == (15 + 15 + 10 + 15 + 15) / 5
    assert module.median_reached(times) == 40
    assert module.median_reached(times[:4]) == 20  # half of them had got there by then
    assert np.isnan(module.median_reached(times[[3, 4, 7]]))
    steps = np.array([5, 10, 20, 30, 40])
    assert module.share_reached(times, steps).tolist() == [0, 0.2, 0.4, 0.4, 0.6]
    censored = stats.CensoredData.right_censored(times.fillna(40), times.isna())
    np.testing.assert_allclose(module.share_reached(times, steps), stats.ecdf(censored).cdf.evaluate(steps))
    lucky, late, at_once = ([0.0] * 20 for _ in range(3))
    lucky[7], late[8:18], at_once[:10] = 80, [8, 10] * 5, [9] * 10
    rows = [lucky, late, at_once, [8.9] * 20, [np.nan] * 20]
    found = module.reached(pd.DataFrame(rows, index=[3, 4, 5, 6, 7], columns=range(10, 210, 10)), 9)
    pd.testing.assert_series_equal(found, pd.Series([np.nan, 180, 100, np.nan, np.nan], index=[3, 4, 5, 6, 7]))


@pytest.mark.parametrize(("agents", "over"), [(FEWEST, "agents"), (FEWEST - 1, "games")])
def test_scores_of_games_are_averaged_over_enough_agents_and_else_over_all_games(agents: int, over: str) -> None:
    scores = [[10.0 * k, 10.0 * k + 1] for k in range(agents)]
    made = study(ladder(["baseline"]), lambda on: 0)
    made.about["games"] = {"trained": scores, "random": [[1.0]]}
    values = np.array(scores).mean(axis=1) if over == "agents" else np.array(scores).ravel()
    assert mean_score(made, "trained") == paired(values)


def test_holm_by_hand() -> None:
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])  # 0.04 * 1 may not fall
    found = holm(np.array([np.nan, 0.6, 0.02, np.nan, 0.9]))
    assert found[[1, 2, 4]].tolist() == [1, 0.06, 1]
    assert np.isnan(found[[0, 3]]).all()
    assert np.isnan(holm(np.array([np.nan]))).all()
