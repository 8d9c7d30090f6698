"""Rates: effects at each, over all and with each arm at its best; the noise of choosing among those that are close."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.studies import study

from ablations import SCALES, flags, unpaired
from ablations.analysis import choosing
from ablations.analysis.by_rate import AT_BEST, OVER_ALL, common_rate, effects_by_rate, over_all, scores_by_rate
from ablations.analysis.choosing import choice_variance, chosen_means, redrawn, table_areas
from ablations.question.designs import ladder
from ablations.report.cells import rate_map_figure
from ablations.training.rates import COLUMNS, GRID, store_table

DESIGN = ladder(["baseline", "entropy"])
UNIT = SCALES["CartPole-v1"].ceiling - SCALES["CartPole-v1"].random
NOISE = 10.0 * np.arange(6)
NOTHING = study(DESIGN, lambda on: 0)
ARM = ("x", 9, "", "gae")
FEW, MORE = np.random.default_rng(0).normal(size=(2, 20))
pytestmark = pytest.mark.usefixtures("rates")


def stored(rows: list[tuple[object, ...]]) -> None:
    store_table(pd.DataFrame(rows, columns=COLUMNS))


def tuned(value: Callable[..., Any], without: tuple[str, float] = ("", 0.0), kept: bool = False) -> None:
    """Fill a table of rates with six seeds a rate, and six more that are 1000 too high for the rate 0.01."""
    rows = list[tuple[object, ...]]()
    for arm in DESIGN.arms:
        for lr in (*GRID, 0.5):  # one more than the grid has
            areas = NOISE + value(set(arm.tricks.on), lr)
            areas = np.concatenate([areas, areas + 1000]) if lr == 0.01 else areas
            lacks = (flags(arm.tricks), lr) == without
            if not lacks or kept:
                mean, text = float(areas.mean()), "" if lacks else " ".join(f"{area:.5g}" for area in areas)
                rows.append(("CartPole-v1", 100_000, "", flags(arm.tricks), lr, mean, mean, len(areas), text))
    stored(rows)


def test_each_rate_counts_with_the_first_look_and_has_a_cell(tmp_path: Path) -> None:
    tuned(lambda on, lr: 100 + 1000 * lr * ("baseline" in on))
    found = effects_by_rate(study(DESIGN, lambda on: 90 * ("baseline" in on)), DESIGN)
    rows = found[found.trick == "baseline"].set_index("at")
    assert list(rows.index) == [*(f"{lr:g}" for lr in GRID), OVER_ALL, AT_BEST]
    assert [rows.difference[f"{lr:g}"] * UNIT for lr in GRID] == pytest.approx([1000 * lr for lr in GRID])
    assert rows.difference[OVER_ALL] * UNIT == pytest.approx(1000 * np.mean(GRID))
    assert rows["with"][OVER_ALL] - rows.without[OVER_ALL] == pytest.approx(rows.difference[OVER_ALL])
    assert rows.difference[AT_BEST] * UNIT == pytest.approx(90)  # of the reported seeds
    assert rows.seeds.to_dict() == dict.fromkeys(rows.index, 6) | {AT_BEST: 8}
    at = unpaired(NOISE + 10, NOISE)
    assert (rows.high["0.01"] - rows.low["0.01"]) * UNIT == pytest.approx(at.high - at.low)
    error = (2 * NOISE.var(ddof=1) / 6 / 7) ** 0.5  # seven rates with seeds of their own
    assert (rows.high[OVER_ALL] - rows.low[OVER_ALL]) * UNIT == pytest.approx(2 * 1.959964 * error)
    paths = rate_map_figure(found, DESIGN, 0.03, tmp_path / "x")
    assert len(pd.read_csv(paths[-1])) == 2 * (len(GRID) + 2)


def test_a_clearly_best_rate_is_always_chosen_and_the_common_one_is_best_for_all_arms() -> None:
    tuned(lambda on, lr: 50 * (lr == 0.03) + 80 * (lr == 0.1) * ("entropy" in on))
    assert common_rate(NOTHING) == 0.03
    tuned(lambda on, lr: (50 - NOISE) * (lr == 0.1))
    assert common_rate(NOTHING) == 0.1  # the best one, though all of its seeds are alike
    apart = {0.01: np.array([90.0, 100.0, 110.0]), 0.03: np.array([10.0, 20.0, 30.0])}
    assert choice_variance(apart, 0.01) == 0
    even = np.array([0.0, 10.0] * 500)
    assert choice_variance({0.01: even + 0.002, 0.03: even}, 0.01) == pytest.approx(0.002**2 / 4, rel=0.01)


@pytest.mark.parametrize("kept", [False, True])
def test_a_comparison_whose_arm_lacks_a_rate_or_its_seeds_is_left_out(kept: bool, tmp_path: Path) -> None:
    tuned(lambda on, lr: 100, without=("baseline entropy", 0.3), kept=kept)
    assert set(effects_by_rate(NOTHING, DESIGN).trick) == {"baseline"}
    assert scores_by_rate(NOTHING, DESIGN.arms[-1]) == {}
    assert tuple(scores_by_rate(NOTHING, DESIGN.arms[0])) == GRID
    few = replace(NOTHING, runs=NOTHING.runs[:1])
    assert tuple(scores_by_rate(few, DESIGN.arms[0])) == GRID  # however few runs
    assert common_rate(NOTHING) is None
    nowhere = effects_by_rate(study(DESIGN, lambda on: 0, env="Nowhere-v0"), DESIGN)
    assert rate_map_figure(nowhere, DESIGN, None, tmp_path) == []


def test_arms_share_the_noise_of_their_tuning_seeds_and_nothing_is_said_where_scores_are_not_known() -> None:
    best = 0.01 if FEW.mean() > MORE.mean() else 0.03
    first, second = (chosen_means({0.01: FEW + by, 0.03: MORE + by}, best) for by in (0, 5))
    assert first is not None and second is not None and first.std() > 0
    assert np.ptp(second - first) < 1e-9  # each draw chooses the same rate for both
    areas = {0.01: np.array([1.0, 2.0]), 0.03: np.array([3.0, 4.0])}
    assert np.isnan(choice_variance(areas, 0.01)) and chosen_means(areas, 0.01) is None  # not what they would choose
    assert np.isnan(choice_variance({lr: own[:1] for lr, own in areas.items()}, 0.03))  # one seed can't be drawn anew
    assert np.isnan(over_all({0.01: FEW[:1]}, {0.01: MORE[:1]}, [0.01]).low)
    assert np.isnan(choice_variance({}, 0.03)) and chosen_means({}, 0.03) is None
    assert choice_variance(areas, 0.03) >= 0
    stored([(*ARM, 0.01, 1.0, 1.0, 2, "1 1"), (*ARM, 0.03, 3.5, 3.5, 2, "3 4")])
    assert {lr: [*each] for lr, each in table_areas(*ARM).items()} == {0.01: [1, 1], 0.03: [3, 4]}
    assert table_areas("y", *ARM[1:]) == {}
    stored([(*ARM, 0.01, 1.0, 1.0, 2, ""), (*ARM, 0.03, 3.5, 3.5, 2, "3 4")])  # known of one of two rates
    assert table_areas(*ARM) == {}


def test_of_three_at_the_first_look_each_can_win_and_every_seed_is_drawn_as_often() -> None:
    # the mean of two draws of 10 and 0 is above 5.1 if both are 10, one time in four, in whichever order they are
    for seeds in ([10.0, 0.0], [0.0, 10.0]):
        found = redrawn([np.array(seeds), np.full(2, 5.1)], resamples=4000)
        assert (found == 0).mean() == pytest.approx(0.25, abs=0.03)
    assert (redrawn([np.array([1.0, 2.0, 3.0]), np.array([90.0, 100.0, np.nan])]) == 0).all()
    noise = np.random.default_rng(0).normal(size=10)
    close = [np.concatenate([noise, noise]) + k for k in (0.2, 0.1, 0.0)] + [noise + 0.05]
    share = np.bincount(redrawn(close), minlength=4) / choosing.RESAMPLES
    assert share.argmax() == 0 and share[3] > 0.05
    # without noise, every draw finds the same: second, third, and fifth get the second look, and the second wins.
    looks = ([3.0], [5.0, 20.0], [9.0, 0.0], [2.0], [7.0, 0.0])
    worse = ([3.0], [5.0, 0.0], [9.0, -5.0], [2.0], [7.0, -4.0])  # the fourth would win, but had no second look
    assert all(set(redrawn([np.repeat(each, 5) for each in areas])) == {1} for areas in (looks, worse))
