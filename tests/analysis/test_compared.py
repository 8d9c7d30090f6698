"""Arms against a reference: the numbers are those of scipy and of the harness's own tests, and the verdict follows."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ablations.analysis.compared import compared_arms, differences_by_rate, margin_of, would_do
from ablations.analysis.effects import HELPS, HURTS, NOTHING, UNKNOWN
from ablations.analysis.estimates import holm, unpaired

RNG = np.random.default_rng(0)
AREAS = {name: RNG.normal(mean, 10, 12) for name, mean in {"base": 100, "up": 130, "down": 70, "same": 101}.items()}


def runs(areas: dict[str, np.ndarray]) -> pd.DataFrame:
    rows = [
        {"arm": arm, "seed": seed, "lr": 0.001, "area": area, "late": area, "diverged": np.nan}
        for arm, values in areas.items()
        for seed, area in enumerate(values)
    ]
    return pd.DataFrame(rows)


def test_each_arm_is_tested_against_the_reference_as_scipy_does_and_corrected_for_their_number() -> None:
    table = compared_arms(runs(AREAS), "base").set_index("arm")
    names = ["up", "down", "same"]
    p = [stats.ttest_ind(AREAS[name], AREAS["base"], equal_var=False).pvalue for name in names]
    assert table.p[names].to_numpy() == pytest.approx(p)
    assert table.p_holm[names].to_numpy() == pytest.approx(holm(np.array(p)))
    between = stats.ttest_ind(AREAS["up"], AREAS["base"], equal_var=False).confidence_interval()
    assert (table.low["up"], table.high["up"]) == pytest.approx((between.low, between.high))
    assert list(table.verdict) == ["", HELPS, HURTS, UNKNOWN]


def test_the_reference_comes_first_wherever_it_stood() -> None:
    assert list(compared_arms(runs(AREAS), "same").arm) == ["same", "base", "up", "down"]


def test_a_difference_that_is_certainly_within_the_margin_is_practically_nothing() -> None:
    table = compared_arms(runs(AREAS), "base", margin=20.0).set_index("arm")
    assert table.verdict["same"] == NOTHING
    assert table.verdict["up"] == HELPS
    assert margin_of("CartPole-v1") == pytest.approx(0.05 * (500 - 22.3))
    assert margin_of("nobody's") is None


def test_the_noise_of_choosing_rates_widens_the_interval() -> None:
    noisy = compared_arms(runs(AREAS), "base", {"up": 30.0, "base": 20.0}).set_index("arm")
    expected = unpaired(AREAS["up"], AREAS["base"], 50.0)
    assert (noisy.low["up"], noisy.p["up"]) == pytest.approx((expected.low, expected.p))


def test_too_few_seeds_have_no_verdict_but_say_how_many_would_do() -> None:
    table = compared_arms(runs({name: values[:3] for name, values in AREAS.items()}), "base").set_index("arm")
    assert set(table.verdict) == {""}
    assert table.low.isna().all()
    assert table.would_do["same"] > 5


def test_so_many_seeds_detect_the_difference_in_four_of_five_tries() -> None:
    """A pair of samples with a difference and a spread that are known; then many pairs from the normal distribution."""
    a, b = np.array([0.0, 2.0]) / 2**0.5, np.array([0.0, 2.0]) / 2**0.5 + 0.8  # variance 1 each
    count = int(would_do(b, a))
    assert count == 25  # 2 (1.96 + 0.84)² / 0.8²
    rng = np.random.default_rng(1)
    detected = [unpaired(rng.normal(0.8, 1, count), rng.normal(0, 1, count)).p < 0.05 for _ in range(400)]
    assert np.mean(detected) == pytest.approx(0.8, abs=0.06)
    assert would_do(b, a, tests=3) > count
    assert np.isnan(would_do(a, a))


def test_at_each_rate_only_the_seeds_that_all_rates_have_count() -> None:
    areas: dict[str, dict[float, tuple[float, ...]]]
    areas = {
        "base": {0.1: (1.0,) * 6, 0.01: (2.0, 3.0) * 3},
        "up": {0.1: (4.0,) * 6, 0.01: (9.0, 8.0) * 3 + (0.0,) * 6},
    }
    found = differences_by_rate(areas, "base").set_index(["arm", "lr"])
    assert found.difference["up"].to_dict() == pytest.approx({0.1: 3.0, 0.01: 6.0})
    assert set(found.seeds) == {6}
    assert found.difference["base"].isna().all()
