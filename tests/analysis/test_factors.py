"""Main effects, interactions, and Shapley values are exact in a factorial."""

from dataclasses import replace

import numpy as np
import pytest
from support.studies import study

from ablations.analysis import factors as module
from ablations.analysis.estimates import LEVEL, holm, paired
from ablations.analysis.factors import by_factors, interactions, main_effects
from ablations.analysis.scales import SCALES
from ablations.analysis.studies import SHARES
from ablations.design.crossed import factorial, screen

UNIT = SCALES["CartPole-v1"].ceiling - SCALES["CartPole-v1"].random
PAIR = factorial(["gae", "entropy"])


def test_a_factorial_gives_back_main_effects_interactions_and_shapley_values() -> None:
    design = factorial(["gae", "entropy", "grad_clip"])
    made = study(design, lambda on: 10 * ("gae" in on) + 4 * ("entropy" in on) + 6 * ({"gae", "entropy"} <= on))
    main = main_effects(made, design).set_index("trick")
    for found in (main.effect, main.shapley):  # efficiency: what all of them add together is 20
        assert (found * UNIT).to_dict() == pytest.approx({"gae": 13, "entropy": 7, "grad_clip": 0})
    pairs = interactions(made, design).set_index(["a", "b"]).interaction * UNIT
    expected = {("gae", "entropy"): 6, ("gae", "grad_clip"): 0, ("entropy", "grad_clip"): 0}
    assert pairs.to_dict() == pytest.approx(expected)


def test_a_factorials_intervals_are_students_over_the_seeds() -> None:
    made = study(PAIR, lambda on: 90 * ("gae" in on) - 40 * ({"gae", "entropy"} <= on))
    noise = 20 * np.random.default_rng(0).normal(size=len(made.runs))
    made = replace(made, runs=made.runs.assign(tuned="x", **{name: made.runs[name] + noise for name in SHARES}))
    arms = ("", ["gae"], ["entropy"], PAIR.names)
    none, gae, entropy, both = (by_factors(made, PAIR)[frozenset(on)] for on in arms)
    main = main_effects(made, PAIR)
    for row, own in zip(main.itertuples(), (gae - none + both - entropy, entropy - none + both - gae), strict=True):
        expected = paired(own / 2)
        assert (row.effect, row.low, row.high, row.p) == pytest.approx(expected, abs=1e-7)
        assert (row.shapley, row.shapley_low, row.shapley_high) == pytest.approx(expected[:3], abs=1e-7)
        assert (row.seeds, row.tuned) == (8, "x")
    assert main.p_holm.tolist() == pytest.approx(holm(main.p.to_numpy()))
    assert main.detected.tolist() == [1, -1]
    found = interactions(made, PAIR).iloc[0]
    expected = paired(both - gae - entropy + none)
    assert found[["interaction", "low", "high", "p"]].tolist() == pytest.approx(expected, abs=1e-7)


def test_where_arms_were_dropped_effects_come_from_those_that_are_there() -> None:
    design = factorial(["baseline", "gae", "entropy"])
    made = study(design, lambda on: 10 * ("gae" in on) + 2 * ("baseline" in on))
    main = main_effects(made, design).set_index("trick")
    assert (main.effect * UNIT).to_dict() == pytest.approx({"baseline": 2, "gae": 10, "entropy": 0})
    assert main.shapley.isna().all()
    assert (main.effect["entropy"], main.detected["entropy"]) == (0, 0)  # not what rounding leaves of 0
    assert np.isnan(interactions(made, design).set_index(["a", "b"]).interaction["baseline", "gae"])
    for missing in range(4):  # an interaction needs all four arms
        made = study(replace(PAIR, arms=PAIR.arms[:missing] + PAIR.arms[missing + 1 :]), lambda on: 0)
        assert np.isnan(interactions(made, PAIR).interaction[0])


def test_effects_of_half_a_billionth_are_rounding_errors() -> None:
    made = study(PAIR, lambda on: UNIT * 4e-10 * ("gae" in on) + UNIT * 6e-10 * ("entropy" in on))
    assert main_effects(made, PAIR).effect.tolist() == [0, 1e-9]


def test_an_adjusted_p_value_at_the_level_is_no_main_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    made = study(PAIR, lambda on: 90 * ("gae" in on))
    assert main_effects(made, PAIR).detected.tolist() == [1, 0]
    monkeypatch.setattr(module, "holm", lambda p: np.full(len(p), LEVEL))
    assert main_effects(made, PAIR).detected.tolist() == [0, 0]


def test_a_screen_finds_main_effects_through_pairwise_interactions_unless_it_has_too_few_arms() -> None:
    design = screen(["gae", "entropy", "grad_clip", "state_norm", "lr_anneal"])
    value = lambda on: 10 * ("gae" in on) + 8 * (("entropy" in on) == ("grad_clip" in on))  # noqa: E731
    for missing in (0, 2):  # whole, and with runs of two arms missing
        made = study(replace(design, arms=design.arms[missing:]), value)
        main = (main_effects(made, design).set_index("trick").effect * UNIT).round(6)
        assert main["gae"] == pytest.approx(10, abs=1e-6 if missing == 0 else 4)
        assert missing or (main.drop("gae") == 0).all()
    design = screen(["gae", "entropy", "grad_clip"])
    few = main_effects(study(replace(design, arms=design.arms[:3]), lambda on: 0), design)
    assert few.trick.tolist() == list(design.names)
    assert few[["effect", "low", "high", "p"]].isna().all(axis=None)
    assert few.detected.eq(0).all()
