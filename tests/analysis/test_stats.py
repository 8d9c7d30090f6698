"""Statistics: cases worked by hand, and how well the intervals and tests keep their promise on simulated seeds.

Coverage of the nominal 95% `interval` over 2,000 simulated sets of seeds; in brackets, that of the plain percentile
bootstrap. Bimodal: 40% of the seeds near 100, 60% near 490; rare failure: 20% and 80%.

| statistic | seeds        | n = 5         | n = 10        | n = 20        | n = 30        |
|-----------|--------------|---------------|---------------|---------------|---------------|
| mean      | normal       | 0.921 (0.830) | 0.947 (0.898) | 0.945 (0.921) | 0.948 (0.930) |
| mean      | exponential  | 0.865 (0.786) | 0.914 (0.867) | 0.917 (0.893) | 0.933 (0.919) |
| mean      | bimodal      | 0.910 (0.884) | 0.962 (0.923) | 0.957 (0.940) | 0.957 (0.943) |
| mean      | rare failure | 0.684 (0.668) | 0.887 (0.875) | 0.934 (0.909) | 0.941 (0.930) |
| iqm       | normal       | 0.939 (0.893) | 0.979 (0.940) | 0.961 (0.940) | 0.955 (0.941) |
| iqm       | exponential  | 0.936 (0.898) | 0.979 (0.934) | 0.961 (0.940) | 0.955 (0.944) |
| iqm       | bimodal      | 0.910 (0.842) | 0.976 (0.894) | 0.960 (0.942) | 0.960 (0.940) |

No interval can account for a failure that none of its seeds showed: with 5 seeds, a 20% failure goes unseen one time
in three; with 10, one time in ten.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.studies import bimodal

from ablations.analysis.estimates import paired, unpaired
from ablations.analysis.stats import (
    FEWEST,
    improvement,
    interval,
    iqm,
    median_reached,
    normalized,
    reached,
    restricted_mean,
    share_reached,
    stratified_interval,
)

SEEDS: dict[str, Callable] = {  # quantile functions: where the truth is known, and samples are drawn
    "normal": stats.norm.ppf,
    "exponential": lambda u: -np.log1p(-u),
    "bimodal": lambda u: bimodal(u, 0.4),
    "rare failure": lambda u: bimodal(u, 0.2),
}
SEEN = {
    (np.mean, "normal"): (0.921, 0.947, 0.945, 0.948),
    (np.mean, "exponential"): (0.865, 0.914, 0.917, 0.933),
    (np.mean, "bimodal"): (0.910, 0.962, 0.957, 0.957),
    (np.mean, "rare failure"): (0.684, 0.887, 0.934, 0.941),
    (iqm, "normal"): (0.939, 0.979, 0.961, 0.955),
    (iqm, "exponential"): (0.936, 0.979, 0.961, 0.955),
    (iqm, "bimodal"): (0.910, 0.976, 0.960, 0.960),
}
CASES = [
    pytest.param(statistic, name, count, seen, id=f"{statistic.__name__}-{name}-{count}-{seen}")
    for (statistic, name), row in SEEN.items()
    for count, seen in zip((5, 10, 20, 30), row, strict=True)
]


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
    low, high = interval(samples, statistic)
    assert low.shape == high.shape == (7,)
    for i in range(7):
        assert interval(samples[:, i], statistic) == (pytest.approx(low[i]), pytest.approx(high[i]))
    again = interval(samples, statistic)
    assert (again[0] == low).all()
    assert (again[1] == high).all()


@pytest.mark.parametrize("count", [5, 10, 30])
def test_an_expanded_interval_of_normal_values_is_students(count: int) -> None:
    values = 7 + stats.norm.ppf((np.arange(count) + 0.5) / count)
    low, high = interval(values)
    reach = stats.t.ppf(0.975, count - 1) * stats.sem(values)
    assert low == pytest.approx(7 - reach, abs=0.12 * reach)  # 0.025 for the tail misses by 30% at n = 5, 17% at 10
    assert high == pytest.approx(7 + reach, abs=0.12 * reach)


def test_an_interval_is_two_quantiles_of_resampled_means() -> None:
    values, rng = np.arange(6.0) ** 2, np.random.default_rng(0)
    means = values[rng.integers(0, 6, (5000, 6))].mean(axis=1)
    tail = stats.norm.cdf(-2.570582 * (6 / 5) ** 0.5)  # t₀.₉₇₅ with 5 degrees of freedom
    assert interval(values) == pytest.approx(np.quantile(means, [tail, 1 - tail]), rel=1e-6)


def test_there_is_no_interval_of_a_nan_or_of_too_few() -> None:
    values = np.arange(FEWEST, dtype=float)
    assert all(np.isfinite(interval(values)))
    for broken in (values[1:], np.array([*values, np.nan])):
        assert all(np.isnan(interval(broken)))
        found = stratified_interval([values, broken])
        assert all(np.isnan(found[1:]))
        assert np.isnan(found.value) == np.isnan(broken).any()
        assert np.isnan(improvement(broken, broken)) == np.isnan(broken).any()
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


def test_environments_weigh_the_same_whatever_their_numbers_of_seeds() -> None:
    few, many = np.array([0.0, 0.1, 0.2, 0.3, 0.4]), np.linspace(0.6, 1.0, 15)
    assert stratified_interval([few, many], np.mean).value == pytest.approx((0.2 + 0.8) / 2)
    assert stratified_interval([few, many], np.max).value == 1
    # each of `few` counts three times: without the 7 lowest and the 7 highest of 30
    assert stratified_interval([few, many]).value == pytest.approx((2 * 0.2 + 3 * 0.3 + 3 * 0.4 + many[:8].sum()) / 16)


def test_each_environments_seeds_are_resampled_apart() -> None:
    low, high = np.arange(5.0), 1000 + np.arange(5.0)
    found = stratified_interval([low, high], np.mean)
    assert found.value == 502
    assert 500 <= found.low < 501.5 < 502.5 < found.high <= 504  # mixed, it would reach from about 0 to 1000
    one = stratified_interval([low], np.mean)
    assert one[1:] == interval(low)
    assert found.high - found.low == pytest.approx((one.high - one.low) / 2**0.5, rel=0.15)  # drawn independently


def test_paired_is_students_t_of_the_differences() -> None:
    found = paired(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    reach = 2.776445 * (2.5 / 5) ** 0.5
    assert found[:3] == pytest.approx((3, 3 - reach, 3 + reach), abs=1e-5)
    # P(|t| > x) of 4 degrees of freedom: 1 - s (3 - s²) / 2 with s = x / √(x² + 4), and x² = 18
    s = (18 / 22) ** 0.5
    assert found.p == pytest.approx(1 - s * (3 - s**2) / 2)
    assert paired(-np.array([1.0, 2.0, 3.0, 4.0, 5.0])).p == found.p
    having, without = np.random.default_rng(0).normal(size=(2, 8))
    assert paired(having - without).p == pytest.approx(stats.ttest_rel(having, without).pvalue)
    assert paired(np.arange(FEWEST - 1.0)).mean == 1.5
    five = np.arange(5.0)  # of squared error 0.5
    assert paired(five, more=0.1) == paired(five)  # more degrees of freedom would make it narrower
    wider = paired(np.ones(5), more=0.25)  # known, so the interval is the normal one
    assert wider[:3] == pytest.approx((1, 1 - 1.95996 / 2, 1 + 1.95996 / 2), abs=1e-4)


def test_unpaired_is_welchs_t_of_two_samples() -> None:
    having, without = np.array([3.0, 4.0, 8.0, 5.0, 9.0, 7.0]), np.array([1.0, 2.0, 2.5, 0.0, 3.0])
    found = unpaired(having, without)
    known = stats.ttest_ind(having, without, equal_var=False)
    low, high = known.confidence_interval(0.95)
    assert found == pytest.approx((4.3, low, high, known.pvalue))
    assert np.isnan(unpaired(having, without[:4])[1:]).all()
    assert unpaired(np.ones(5), np.zeros(5)) == (1, 1, 1, 0)
    assert unpaired(np.full(60, 0.1), np.full(30, 0.1)) == (0, 0, 0, 1)  # means of 0.1 differ in the last digit
    wider = unpaired(np.ones(5), np.zeros(5), more=0.25)  # known, so the interval is the normal one
    assert wider[:3] == pytest.approx((1, 1 - 1.95996 / 2, 1 + 1.95996 / 2), abs=1e-4)


@pytest.mark.filterwarnings("error")
def test_differences_without_variance_are_certain_or_none() -> None:
    assert paired(np.zeros(6)) == (0, 0, 0, 1)
    assert paired(np.full(6, -2.0)) == (-2, -2, -2, 0)
    assert paired(np.full(6, 0.1)).p == 0  # its standard deviation is 1e-17


def test_improvement_counts_pairs_won_and_half_of_the_ties() -> None:
    having, without = np.array([1.0, 2.0, 3.0, 9.0, 9.0]), np.array([2.0, 2.0, 0.0, 9.0, 5.0])
    share = (1 + (1 + 1 / 2 + 1 / 2) + 3 + 2 * (4 + 1 / 2)) / 25
    assert improvement(having, without) == pytest.approx(share)
    assert improvement(having, without) == pytest.approx(stats.mannwhitneyu(having, without).statistic / 25)
    assert improvement(without, having) == pytest.approx(1 - share)
    assert improvement(having + 10, having) == 1


def test_a_score_is_0_for_a_random_policy_and_1_at_the_ceiling() -> None:
    assert normalized(np.array([-500.0, -80.0, -290.0]), -500, -80).tolist() == [0, 1, 0.5]


def test_times_to_a_threshold_are_censored() -> None:
    times = pd.Series([20, np.nan, 10, 40, np.nan], index=[3, 4, 5, 6, 7])
    assert restricted_mean(times, 40) == (20 + 40 + 10 + 40 + 40) / 5
    assert restricted_mean(times, 15) == (15 + 15 + 10 + 15 + 15) / 5
    assert median_reached(times) == 40
    assert median_reached(times[:4]) == 20  # half of them had got there by then
    assert np.isnan(median_reached(times[[3, 4, 7]]))
    steps = np.array([5, 10, 20, 30, 40])
    assert share_reached(times, steps).tolist() == [0, 0.2, 0.4, 0.4, 0.6]
    censored = stats.CensoredData.right_censored(times.fillna(40), times.isna())
    np.testing.assert_allclose(share_reached(times, steps), stats.ecdf(censored).cdf.evaluate(steps))


def test_a_threshold_is_reached_by_a_tenth_of_the_budget_not_by_a_lucky_episode() -> None:
    lucky, late, at_once, low = ([0.0] * 20 for _ in range(4))
    lucky[7] = 80
    late[8:18] = [8, 10] * 5
    at_once[:10] = [9] * 10
    low[:] = [8.9] * 20
    grid = pd.DataFrame([lucky, late, at_once, low, [np.nan] * 20], index=[3, 4, 5, 6, 7], columns=range(10, 210, 10))
    found = pd.Series([np.nan, 180, 100, np.nan, np.nan], index=[3, 4, 5, 6, 7])
    pd.testing.assert_series_equal(reached(grid, 9), found)
