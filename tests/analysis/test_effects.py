"""Effects are Welch's, corrected for their number, and confirmed by other seeds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.studies import study

from ablations.analysis import effects as module
from ablations.analysis.effects import MARGIN, certainly_small, detected_arms, effects, scores
from ablations.analysis.estimates import LEVEL, second_try, unpaired
from ablations.analysis.scales import SCALES
from ablations.analysis.studies import SHARES, Study
from ablations.design.designs import ladder
from tricks.ladder import Tricks

SCALE = SCALES["CartPole-v1"]


def test_a_score_is_the_area_between_the_random_policy_and_the_ceiling() -> None:
    design = ladder(["baseline"])
    found = scores(study(design, lambda on: 0), Tricks())
    assert found.area[3] == 130
    assert found.score[3] == pytest.approx((130 - SCALE.random) / (SCALE.ceiling - SCALE.random))
    assert scores(study(design, lambda on: 0, env="Elsewhere-v0"), Tricks()).score[3] == 130  # no scale: as it is
    assert scores(study(design, lambda on: 500), Tricks()).reached[3] == 10_000
    assert np.isnan(found.reached[3])


def test_an_effect_is_welchs_and_corrected_for_how_many_there_are() -> None:
    design = ladder(["baseline", "entropy", "lr_anneal"])
    made = study(design, lambda on: 90 * ("baseline" in on) + 30 * ("lr_anneal" in on))
    found = effects(made, design).set_index("trick")
    unit = SCALE.ceiling - SCALE.random
    assert found.difference["baseline"] == pytest.approx(90 / unit)
    assert found.detected.to_dict() == {"baseline": 1, "entropy": 0, "lr_anneal": 0}
    spread = 10 * np.arange(8.0)
    assert found.p["lr_anneal"] == pytest.approx(stats.ttest_ind(spread + 30, spread, equal_var=False).pvalue)
    assert found.p["lr_anneal"] < 0.05 < found.p_holm["lr_anneal"]  # alone it would be detected
    assert found.p_holm["lr_anneal"] == pytest.approx(2 * found.p["lr_anneal"])
    assert found.improvement["entropy"] == 0.5
    assert found.improvement["baseline"] == 1
    means = [(value - SCALE.random) / unit for value in (135, 225, 225, 225)]  # of eight seeds, 100 to 170
    assert found[["without", "with"]].to_numpy().ravel().tolist()[:4] == pytest.approx(means)


def test_an_effect_helps_or_hurts_or_is_practically_nothing_or_unknown() -> None:
    design = ladder(["baseline", "entropy", "lr_anneal", "grad_clip"])
    made = study(design, lambda on: 200 * ("baseline" in on) - 200 * ("lr_anneal" in on))
    both = made.runs.tricks.str.contains("entropy") | made.runs.tricks.eq("baseline")
    calm = made.runs.assign(**{name: made.runs[name] - 9.5 * made.runs.seed * both for name in SHARES})
    found = effects(replace(made, runs=calm), design).set_index("trick").verdict
    assert found.to_dict() == {
        "baseline": "helps",
        "entropy": "practically nothing",  # within ±0.05 for sure
        "lr_anneal": "hurts",
        "grad_clip": "practically nothing",
    }
    assert set(effects(made, design).verdict) == {"helps", "hurts", "unknown"}
    assert set(effects(study(design, lambda on: 0, seeds=3), design).verdict) == {""}
    elsewhere = effects(study(design, lambda on: 0, env="Elsewhere-v0"), design)
    assert set(elsewhere.verdict) == {"unknown"}  # in units of return, nobody knows what is little


def test_the_noise_of_choosing_is_in_the_interval_only_if_it_is_known_of_both_arms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    design = ladder(["baseline"])

    def found(without: float, having: float) -> tuple[float, float]:
        monkeypatch.setattr(module, "_choice", lambda _, tricks: having if tricks.baseline else without)
        row = effects(study(design, lambda on: 0), design).iloc[0]
        return row.high - row.low, row.choosing

    (narrow, nothing), (wide, noise), (as_before, unknown) = found(0, 0), found(0.05, 0.04), found(np.nan, 0.04)
    assert (nothing, noise) == (0, pytest.approx(0.3))
    assert np.isnan(unknown)
    assert as_before == narrow < wide


def test_the_noise_of_choosing_is_in_the_units_of_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables' areas are returns, and both arms' noise of 9 and 12 makes one of 15."""
    variances = {"": 81.0, "baseline": 144.0}
    monkeypatch.setattr(module, "choice_variance", lambda env, steps, given, tricks, lr: variances[tricks])
    design = ladder(["baseline"])
    for env, unit in (("CartPole-v1", SCALE.ceiling - SCALE.random), ("Elsewhere-v0", 1.0)):
        assert effects(study(design, lambda on: 0, env=env), design).choosing[0] == pytest.approx(15 / unit)


def test_choosing_two_rates_adds_both_variances_in_units_of_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, design = list[tuple[object, ...]](), ladder(["baseline"])

    def variance(*arm: object) -> float:
        asked.append(arm)
        return 9.0

    monkeypatch.setattr(module, "choice_variance", variance)
    assert effects(study(design, lambda on: 0), design).choosing[0] == pytest.approx(
        18**0.5 / (SCALE.ceiling - SCALE.random)
    )
    assert asked == [("CartPole-v1", 100_000, "", "", 0.02), ("CartPole-v1", 100_000, "", "baseline", 0.02)]
    assert effects(study(design, lambda on: 0, env="Elsewhere-v0"), design).choosing[0] == pytest.approx(18**0.5)


def test_practically_nothing_is_an_interval_inside_the_margin_where_there_is_a_scale() -> None:
    inside, on_it = MARGIN - 0.01, MARGIN
    rows = [(-inside, inside), (-on_it, inside), (-inside, on_it), (-1, inside), (-inside, 1), (0.2, 0.3)]
    frame = pd.DataFrame(rows, columns=["low", "high"]).assign(env="CartPole-v1")
    assert certainly_small(frame).tolist() == [True] + [False] * 5
    assert not certainly_small(frame.assign(env="Elsewhere-v0")).any()


def test_a_p_value_at_the_level_is_no_effect_and_no_confirmation(monkeypatch: pytest.MonkeyPatch) -> None:
    design = ladder(["baseline"])
    monkeypatch.setattr(module, "holm", lambda p: np.full(len(p), LEVEL))
    assert effects(study(design, lambda on: 500 * ("baseline" in on)), design).detected.tolist() == [0]
    row = {"difference": 1.0, "low": 0.0, "high": 2.0, "p": LEVEL}
    found = second_try([1, 1, -1], lambda k: row | {"p": LEVEL - 0.01 * k})
    assert found.confirmed.tolist() == [0, 1, 0]


def test_the_last_tenth_has_an_effect_of_its_own() -> None:
    design, spread = ladder(["baseline"]), np.arange(8.0) ** 2
    made = study(design, lambda on: 0)
    late = np.where(made.runs.tricks.eq(""), 1.0, 2.0) * np.tile(spread, 2)
    found = effects(replace(made, runs=made.runs.assign(late=late)), design).iloc[0]
    expected = unpaired(2 * spread, spread)
    assert found[["late_difference", "late_low", "late_high"]].tolist() == pytest.approx(expected[:3])


def test_every_arm_keeps_its_own_runs_scores() -> None:
    design = ladder(["baseline", "entropy", "lr_anneal", "grad_clip"])
    made = study(design, lambda on: 500 * ("entropy" in on) + len(on))
    for arm in design.arms:
        found = scores(made, arm.tricks)
        assert (
            found.area.tolist() == found.late.tolist() == [100 + 10 * seed + found.area[0] - 100 for seed in range(8)]
        )
        assert found.reached.notna().tolist() == [arm.tricks.entropy] * 8


def test_an_arm_of_which_one_seed_has_no_score_has_no_mean() -> None:
    design = ladder(["baseline", "entropy"])
    made = study(design, lambda on: 0)
    broken = made.runs.tricks.eq("baseline") & made.runs.seed.eq(3)
    found = effects(
        replace(made, runs=made.runs.assign(**{name: made.runs[name].mask(broken) for name in SHARES})), design
    )
    assert found[["without", "with"]].isna().to_numpy().tolist() == [[False, True], [True, False]]


def test_both_arms_of_what_is_detected_are_tried_again_and_no_others() -> None:
    design = ladder(["baseline", "entropy", "lr_anneal"])
    found = detected_arms(study(design, lambda on: 90 * ("baseline" in on)))
    assert found == {arm.tricks for arm in design.arms[:2]}
    apart = replace(study(design, lambda on: 90 * ("baseline" in on)), designs=(ladder(["gae"]), design))
    assert detected_arms(apart) == found  # of the other design there are no runs
    assert detected_arms(study(design, lambda on: 0)) == frozenset()


def test_a_single_seed_has_a_difference_and_no_interval() -> None:
    found = effects(study(ladder(["baseline"]), lambda on: 5.0 * len(on), seeds=1), ladder(["baseline"])).iloc[0]
    assert found.difference == pytest.approx(5 / (SCALE.ceiling - SCALE.random))
    assert np.isnan([found.low, found.high, found.p]).all()


def test_a_detected_effect_is_confirmed_if_other_seeds_show_it_again() -> None:
    design = ladder(["baseline", "entropy", "lr_anneal"])
    first = study(design, lambda on: 90 * ("baseline" in on) - 90 * ("lr_anneal" in on))
    second = study(design, lambda on: 70 * ("baseline" in on))
    found = effects(replace(first, again=second), design).set_index("trick")
    assert found.confirmed.fillna(-1).to_dict() == {"baseline": 1, "entropy": -1, "lr_anneal": 0}
    assert found.again["baseline"] == pytest.approx(70 / (SCALE.ceiling - SCALE.random))
    assert found.again_low["baseline"] < found.again["baseline"] < found.again_high["baseline"]
    assert effects(first, design).confirmed.isna().all()
    opposite = study(design, lambda on: -90 * ("baseline" in on))
    assert effects(replace(first, again=opposite), design).confirmed[0] == 0  # as clear, but the other way


def test_a_comparison_without_runs_is_left_out_and_one_with_fewer_seeds_takes_those_it_has() -> None:
    design = ladder(["baseline", "entropy"])
    made = study(design, lambda on: 0)
    runs = made.runs[(made.runs.tricks != "baseline entropy")]
    partly = Study("made", (design,), runs[~((runs.tricks == "baseline") & (runs.seed > 5))], made.about)
    found = effects(partly, design)
    assert found[["trick", "seeds"]].to_numpy().tolist() == [["baseline", 6]]
    assert partly.missing(design) == ["+ baseline", "+ entropy"]
