"""Effects are Welch's, corrected, confirmed by other seeds, and small only where there is room; their statistics."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.fixtures import Patch
from support.studies import bimodal, study

from ablations import Arm
from ablations.analysis import effects as module
from ablations.analysis import stats as reaching
from ablations.analysis.by_rate import common_rate
from ablations.analysis.effects import NOTHING, by_factors, effects, interactions, joint, main_effects, scores
from ablations.analysis.reading import as_study, of_study
from ablations.analysis.records import SHARES, Study
from ablations.analysis.scales import MARGIN, SCALES
from ablations.analysis.stats import FEWEST, LEVEL, holm, improvement, interval, iqm, known, paired, unpaired
from ablations.experiments.compare import design_of
from ablations.findings.claims import AGREES, UNCLEAR, mean_score, verdict_on
from ablations.question.designs import factorial, ladder, leave_one_out
from ablations.report.answer import Answer
from ablations.report.cells import area_of, told_apart
from ablations.report.multiples import on_grids
from ablations.report.tables import arms_table, arms_text, crossed_text, effects_text
from tricks.ladder import Tricks

SCALE = SCALES["CartPole-v1"]
UNIT = SCALE.ceiling - SCALE.random
NAN = float("nan")
ONE, TWO, THREE = ladder(["baseline"]), ladder(["baseline", "entropy"]), ladder(["baseline", "entropy", "lr_anneal"])
FOUR = ladder(["baseline", "entropy", "lr_anneal", "grad_clip"])
FLAT = study(ONE, lambda on: 0)


def test_an_effect_is_welchs_corrected_for_how_many_there_are_of_the_area_over_random() -> None:
    found = scores(FLAT, Tricks())
    assert (found.area[3], found.score[3]) == (130, pytest.approx((130 - SCALE.random) / UNIT))
    assert scores(study(ONE, lambda on: 0, env="Elsewhere-v0"), Tricks()).score[3] == 130  # no scale: as it is
    assert scores(study(ONE, lambda on: 500), Tricks()).reached[3] == 10_000
    assert np.isnan(found.reached[3])
    made = study(THREE, lambda on: 90 * ("baseline" in on) + 30 * ("lr_anneal" in on))
    found = effects(made, THREE).set_index("trick")
    assert found.difference["baseline"] == pytest.approx(90 / UNIT)
    assert found.detected.to_dict() == {"baseline": 1, "entropy": 0, "lr_anneal": 0}
    spread = 10 * np.arange(8.0)
    assert found.p["lr_anneal"] == pytest.approx(stats.ttest_ind(spread + 30, spread, equal_var=False).pvalue)
    assert found.p["lr_anneal"] < 0.05 < found.p_holm["lr_anneal"]  # alone it would be detected
    assert found.p_holm["lr_anneal"] == pytest.approx(2 * found.p["lr_anneal"])
    assert (found.better["entropy"], found.better["baseline"]) == (0.5, 1)
    means = [(value - SCALE.random) / UNIT for value in (135, 225, 225, 225)]  # of eight seeds, 100 to 170
    assert found[["without", "with"]].to_numpy().ravel().tolist()[:4] == pytest.approx(means)


def test_an_effect_helps_or_hurts_or_is_practically_nothing_within_the_margin_or_unknown() -> None:
    made = study(FOUR, lambda on: 200 * ("baseline" in on) - 200 * ("lr_anneal" in on))
    both = made.runs.tricks.str.contains("entropy") | made.runs.tricks.eq("baseline")
    calm = made.runs.assign(**{name: made.runs[name] - 9.5 * made.runs.seed * both for name in SHARES})
    found = effects(replace(made, runs=calm), FOUR).set_index("trick").verdict
    nothing = "practically nothing"  # within ±0.05 for sure
    assert found.to_dict() == {"baseline": "helps", "entropy": nothing, "lr_anneal": "hurts", "grad_clip": nothing}
    assert set(effects(made, FOUR).verdict) == {"helps", "hurts", "unknown"}
    assert set(effects(study(FOUR, lambda on: 0, seeds=3), FOUR).verdict) == {""}
    assert effects(replace(FLAT, about=FLAT.about | {"level": 0.01}), ONE).p.tolist() == [1]  # not 5
    elsewhere = effects(study(FOUR, lambda on: 0, env="Elsewhere-v0"), FOUR)
    assert set(elsewhere.verdict) == {"unknown"}  # in units of return, nobody knows what is little
    inside, on_it = MARGIN - 0.01, MARGIN
    rows = [(-inside, inside), (-on_it, inside), (-inside, on_it), (-1, inside), (-inside, 1), (0.2, 0.3)]
    frame = pd.DataFrame(rows, columns=["low", "high"]).assign(without=0.5, **{"with": 0.5})
    assert module.is_small(frame.assign(scaled=True)).tolist() == [True] + [False] * 5
    assert not module.is_small(frame.assign(scaled=False)).any()


def test_the_noise_of_choosing_both_rates_is_in_the_interval_in_units_of_the_score(monkeypatch: Patch) -> None:
    """The tuning seeds' areas are returns; noise of 9 and 12 is together one of 15."""
    monkeypatch.setattr(module, "choice_variance", lambda areas, lr: areas[lr][0])

    def found(env: str, without: float, having: float) -> tuple[float, float]:
        made = study(ONE, lambda on: 0, env)
        made.about["tuning"] = {"reinforce": [[0.02, [without]]], "+ baseline": [[0.02, [having]]]}
        row = effects(made, ONE).iloc[0]
        return row.high - row.low, row.choosing

    for env, unit in (("CartPole-v1", UNIT), ("Elsewhere-v0", 1.0)):
        (narrow, nothing), (wide, noise), (as_before, unknown) = (found(env, *v) for v in ((0, 0), (81, 144), (NAN, 9)))
        assert (nothing, noise) == (0, pytest.approx(15 / unit))
        assert np.isnan(unknown) and narrow < wide and as_before == narrow  # of one arm it is not known


def test_arms_that_differ_in_their_own_functions_only_have_their_own_noise_of_choosing(monkeypatch: Patch) -> None:
    monkeypatch.setattr(module, "choice_variance", lambda areas, lr: areas[lr][0])
    own = [Arm(name, Tricks(), functions=[("gae", str)] * (name != "a")) for name in "abc"]  # as stored
    made = study(design_of(own), lambda on: 0)
    made.runs["arm"] = np.repeat([*"abc"], 8)
    made.about["tuning"] = {"a": [[0.02, [0]], [0.1, [0]]], "b": [[0.02, [81]], [0.1, [0]]]}
    made.about["tuning"] |= {"c": [[0.02, [144]], [0.1, [300]]]}
    assert effects(made, made.designs[0]).choosing.tolist() == pytest.approx([9 / UNIT, 12 / UNIT])
    assert common_rate(made) == 0.1


def test_a_second_try_at_the_level_confirms_nothing() -> None:
    row = {"difference": 1.0, "low": 0.0, "high": 2.0, "p": LEVEL}
    later = [row | {"p": LEVEL - 0.01 * k} for k in range(3)]
    assert reaching.second_try(pd.Series([1, 1, -1]), later).confirmed.tolist() == [0, 1, 0]
    found = reaching.second_try(pd.Series([0, 0, 0, 1]), [row, row, row, None], pd.Series([3.0, 2.0, NAN, NAN]))
    assert found.confirmed.fillna(-1).tolist() == [1, 0, -1, -1]


def test_the_last_tenth_has_an_effect_of_its_own_and_a_single_seed_no_interval() -> None:
    spread = np.arange(8.0) ** 2
    late = np.where(FLAT.runs.tricks.eq(""), 1.0, 2.0) * np.tile(spread, 2)
    expected = unpaired(2 * spread, spread)
    tried = {arm.name: [[0.02, [0.0, 99.0]], [0.1, [0.0, 98.0]]] for arm in ONE.arms}
    asked = replace(FLAT, runs=FLAT.runs.assign(late=late), about=FLAT.about | {"score": "late", "tuning": tried})
    found = effects(asked, ONE).iloc[0]
    assert (found[["difference", "low", "high"]] * UNIT).tolist() == pytest.approx(expected[:3])
    assert np.isnan(found.choosing)  # of the tuning seeds, rates were chosen by the areas
    found = effects(study(ONE, lambda on: 5.0 * len(on), seeds=1), ONE).iloc[0]
    assert found.difference == pytest.approx(5 / UNIT) and np.isnan([found.low, found.high, found.p]).all()


def test_every_arm_keeps_its_own_runs_scores_and_with_one_missing_has_no_mean() -> None:
    made = study(FOUR, lambda on: 500 * ("entropy" in on) + len(on))
    for arm in FOUR.arms:
        found = scores(made, arm)
        assert found.area.tolist() == found.late.tolist() == [10 * seed + found.area[0] for seed in range(8)]
        assert found.area[0] == 100 + 500 * arm.tricks.entropy + len(arm.tricks.on)
        assert found.reached.notna().tolist() == [arm.tricks.entropy] * 8
    runs = study(TWO, lambda on: 0).runs
    broken = runs.tricks.eq("baseline") & runs.seed.eq(3)
    runs = runs.assign(**{name: runs[name].mask(broken) for name in SHARES})
    found = effects(replace(made, designs=(TWO,), runs=runs), TWO)
    assert found[["without", "with"]].isna().to_numpy().tolist() == [[False, True], [True, False]]


def test_what_is_detected_is_tried_again_and_confirmed_if_other_seeds_show_it_again() -> None:
    first = study(THREE, lambda on: 90 * ("baseline" in on) - 90 * ("lr_anneal" in on))
    second = study(THREE, lambda on: 70 * ("baseline" in on))
    found = effects(replace(first, again=second), THREE).set_index("trick")
    assert found.confirmed.fillna(-1).to_dict() == {"baseline": 1, "entropy": -1, "lr_anneal": 0}
    assert found.again["baseline"] == pytest.approx(70 / UNIT)
    assert found.again_low["baseline"] < found.again["baseline"] < found.again_high["baseline"]
    assert effects(first, THREE).confirmed.isna().all()
    opposite = study(THREE, lambda on: -90 * ("baseline" in on))
    assert effects(replace(first, again=opposite), THREE).confirmed[0] == 0  # as clear, but the other way
    both = {*THREE.arms[:2]}  # and no others
    assert module.decided_arms(second) == both
    apart = replace(second, designs=(ladder(["gae"]), THREE))
    assert module.decided_arms(apart) == both  # of the other design there are no runs
    assert module.decided_arms(study(THREE, lambda on: 0)) == frozenset()


def calm(made: Study) -> Study:
    """The study with a tenth of the spread between seeds, so that small effects are certainly small."""
    return replace(made, runs=made.runs.assign(**{name: made.runs[name] - 9 * made.runs.seed for name in SHARES}))


def test_practically_nothing_is_tried_again_and_several_of_it_are_taken_out_together() -> None:
    design = leave_one_out(["baseline", "gae", "entropy", "lr_anneal", "grad_clip"])
    first = calm(study(design, lambda on: 200 * ("baseline" in on) + 2 * ("entropy" in on) + ("grad_clip" in on)))
    found = effects(first, design).set_index("trick")
    small = ["gae", "entropy", "lr_anneal", "grad_clip"]
    assert found.verdict.to_dict() == {"baseline": "helps", **dict.fromkeys(small, NOTHING)}
    assert module.decided_arms(first) == {*design.arms}
    second = calm(study(design, lambda on: 200 * ("baseline" in on) + 60 * ("gae" in on)))
    confirmed = effects(replace(first, again=second), design).set_index("trick").confirmed
    assert confirmed.to_dict() == {"baseline": 1, "gae": 0, "entropy": 1, "lr_anneal": 1, "grad_clip": 1}
    together = joint(first)
    assert together is not None and together.names == tuple(small)
    (pair,) = together.comparisons
    assert (pair.having, pair.without.tricks.on) == (design.arms[0], ("baseline",))
    assert together.arms == (pair.having, pair.without) and together.own_arms
    assert (pair.label.trick, {*pair.label.others}) == (small[0], {*small[1:]})
    three = leave_one_out(["baseline", "gae", "entropy"])
    made = [study(three, lambda on, x=x: 200 * ("baseline" in on) + x * ("entropy" in on)) for x in (2, 60)]  # type: ignore[misc]
    assert [found and found.names for found in map(joint, map(calm, made))] == [("gae", "entropy"), None]
    assert joint(study(design, lambda on: 0)) is None and joint(calm(study(TWO, lambda on: 9))) is None


def test_a_comparison_without_runs_is_left_out_and_counts_the_seeds_that_both_arms_have() -> None:
    made = study(TWO, lambda on: 0)
    runs = made.runs[(made.runs.tricks != "baseline entropy")]
    partly = Study("made", (TWO,), runs[~((runs.tricks == "baseline") & (runs.seed > 5))], made.about)
    assert effects(partly, TWO)[["trick", "seeds"]].to_numpy().tolist() == [["baseline", 6]]
    assert partly.missing(TWO) == ["+ baseline", "+ entropy"]


SMALL = {"difference": 0.0, "low": -0.01, "high": 0.01, "p_holm": 0.9, "without": 0.5, "with": 0.5}


@pytest.mark.parametrize(("said", "level"), [(module.NOT_LEARNED, 0.02), (NOTHING, 0.5), (module.AT_CEILING, 0.97)])
def test_tables_figures_claims_and_answers_refuse_a_small_effect_without_room(said: str, level: float) -> None:
    flat = FLAT.runs.assign(**dict.fromkeys(SHARES, SCALE.random + level * UNIT + 0.1 * (FLAT.runs.index % 7)))
    found = effects(replace(FLAT, runs=flat), ONE)
    assert (found.verdict.tolist(), told_apart(found).small.tolist()) == ([said], [said == NOTHING])
    assert told_apart(found).hatched.tolist() == [said != NOTHING]
    assert ("≈" in effects_text([found])) == (said == NOTHING)
    assert verdict_on(0, found.iloc[0].to_dict()) == (AGREES if said == NOTHING else UNCLEAR)
    row = Answer((replace(FLAT, runs=flat),))
    (words,) = row.sentences
    assert (row.effects.verdict.tolist(), "does practically nothing" in words) == ([said], said == NOTHING)
    assert words.startswith("cannot tell here what + baseline does: ") == (said != NOTHING)


def test_room_is_above_random_or_below_the_best_and_the_untrained_arms_are_the_floor_without_a_scale() -> None:
    floor, ceiling = module.LEARNED * MARGIN, 1 - module.HEADROOM * MARGIN
    out_of_room = module.out_of_room
    assert out_of_room(floor - 0.01, floor - 0.01, MARGIN) == module.NOT_LEARNED
    assert out_of_room(floor - 0.01, floor, MARGIN) == out_of_room(floor, -0.5, MARGIN) == ""
    assert out_of_room(ceiling + 0.01, ceiling + 0.01, MARGIN) == module.AT_CEILING
    assert out_of_room(ceiling, 1.0, MARGIN) == out_of_room(1.0, ceiling, MARGIN) == ""
    assert out_of_room(9, 9, 1, (7, np.nan)) == module.NOT_LEARNED != out_of_room(10, 9, 1, (7, np.nan))
    assert out_of_room(0, 0, 1, (np.nan, np.nan)) == ""
    verdict = module.verdict
    for floor in (0.0, 7.0):  # two arms that are no better than random differ only in how they fail
        for level, learned in ((MARGIN - 0.001, False), (MARGIN + 0.001, True), (1.0, True)):
            at = SMALL | {"without": floor - 1, "with": floor + level}
            for p, said in ((0.01, "hurts"), (0.5, module.UNKNOWN)):
                found = verdict(at | {"p_holm": p, "difference": -0.2, "high": 0.2}, MARGIN, (floor, floor + 1))
                assert found == (said if learned else module.NOT_LEARNED)
            assert verdict(at, NAN) == module.UNKNOWN
        assert verdict(at | {"low": np.nan, "high": np.nan}, MARGIN) == ""
    assert verdict(SMALL, MARGIN) == NOTHING
    runs = calm(study(ONE, lambda on: 2 * len(on), "Elsewhere-v0")).runs
    for start, said in ((99.0, module.NOT_LEARNED), (10.0, NOTHING)):  # the first returns are the untrained arms'
        made = Study("x", (ONE,), runs.assign(**{SHARES[0]: start}), FLAT.about | {"margin": 6.0})
        assert effects(made, ONE).verdict.tolist() == [said]


def test_no_effect_is_detected_of_arms_no_better_than_random_but_arguments_and_wrappers_leave_no_scale() -> None:
    found = effects(made := study(ONE, lambda on: 60 * len(on) - 170), ONE)
    assert found.p_holm.item() < LEVEL and (found.detected.item(), found.verdict.item()) == (0, module.NOT_LEARNED)
    assert told_apart(found).hatched.item() and "normalized area" in area_of(found)
    for numbers in ("gamma=0.9 env_args=('max_episode_steps=40',)", "wrap=('mine:Wrapper',)"):
        other = replace(made, runs=made.runs.assign(numbers=numbers))
        frames, found = of_study(other), effects(other, ONE)
        assert (found.verdict.tolist(), "(return)" in area_of(found)) == ([module.HELPS], True)
        assert "solved" in arms_text(arms_table(made, ONE)) and "solved" not in arms_text(arms_table(other, ONE))
        assert as_study(frames, "reinforce", on_grids(frames)).scale is None


PAIR = factorial(["gae", "entropy"])


def test_a_factorial_gives_back_main_effects_and_interactions() -> None:
    design = factorial(["gae", "entropy", "grad_clip"])
    made = study(design, lambda on: 10 * ("gae" in on) + 4 * ("entropy" in on) + 6 * ({"gae", "entropy"} <= on))
    main = main_effects(made, design).set_index("trick")
    assert (main.effect * UNIT).to_dict() == pytest.approx({"gae": 13, "entropy": 7, "grad_clip": 0})
    pairs = interactions(made, design).set_index(["a", "b"]).interaction * UNIT
    expected = {("gae", "entropy"): 6, ("gae", "grad_clip"): 0, ("entropy", "grad_clip"): 0}
    assert pairs.to_dict() == pytest.approx(expected)
    told = crossed_text(made, design)  # in units of return
    assert "| gae       | +13 [+13, +13]" in told and "| gae, entropy       | +6 [+6, +6]" in told


def test_a_factorials_intervals_are_students_over_the_seeds_at_the_level_of_the_look_in_each_environment() -> None:
    made = study(PAIR, lambda on: 90 * ("gae" in on) - 40 * ({"gae", "entropy"} <= on))
    noise = 20 * np.random.default_rng(0).normal(size=len(made.runs))
    made = replace(made, runs=made.runs.assign(tuned="x", **{name: made.runs[name] + noise for name in SHARES}))
    arms = ("", ["gae"], ["entropy"], PAIR.names)
    none, gae, entropy, both = (by_factors(made, PAIR)[frozenset(on)] for on in arms)
    main = main_effects(made, PAIR)
    for row, own in zip(main.itertuples(), (gae - none + both - entropy, entropy - none + both - gae), strict=True):
        expected = paired(own / 2)
        assert (row.effect, row.low, row.high, row.p) == pytest.approx(expected, abs=1e-7)
        assert (row.seeds, row.tuned) == (8, "x")
    assert (main.p_holm.tolist(), main.detected.tolist()) == (pytest.approx(holm(main.p.to_numpy())), [1, -1])
    found = interactions(made, PAIR)
    expected = paired(both - gae - entropy + none)
    assert found.iloc[0, 2:].tolist() == pytest.approx(expected, abs=1e-7)
    look = replace(made, about=made.about | {"level": 0.0125})
    for at_once, shared in ((main, main_effects(look, PAIR)), (found, interactions(look, PAIR))):
        reach = (at_once.high - at_once.low) * stats.t.ppf(1 - 0.00625, 7) / stats.t.ppf(0.975, 7)
        assert (shared.high - shared.low).tolist() == pytest.approx(reach.tolist())
        assert shared.p.tolist() == pytest.approx((4 * at_once.p).clip(upper=1).tolist())
    told = "\n".join(Answer((made, replace(study(PAIR, len, "Acrobot-v1"), name="there"))).tables)
    assert [line for line in told.split("\n") if line.endswith(":")] == ["CartPole-v1:", "Acrobot-v1:"]
    assert told.count("main effect") == 2


def test_effects_come_from_the_arms_that_are_there_and_half_a_billionth_is_a_rounding_error() -> None:
    design = factorial(["baseline", "gae", "entropy"])
    made = study(design, lambda on: 10 * ("gae" in on) + 2 * ("baseline" in on))
    main = main_effects(made, design).set_index("trick")
    assert (main.effect * UNIT).to_dict() == pytest.approx({"baseline": 2, "gae": 10, "entropy": 0})
    assert (main.effect["entropy"], main.detected["entropy"]) == (0, 0)  # not what rounding leaves of 0
    assert np.isnan(interactions(made, design).set_index(["a", "b"]).interaction["baseline", "gae"])
    for missing in range(4):  # an interaction needs all four arms
        made = study(replace(PAIR, arms=PAIR.arms[:missing] + PAIR.arms[missing + 1 :]), lambda on: 0)
        assert np.isnan(interactions(made, PAIR).interaction[0])
    made = study(PAIR, lambda on: UNIT * 4e-10 * ("gae" in on) + UNIT * 6e-10 * ("entropy" in on))
    assert main_effects(made, PAIR).effect.tolist() == [0, 1e-9]


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


def test_there_is_no_interval_of_a_nan_or_of_too_few_and_the_interquartile_mean_leaves_quarters_out() -> None:
    values = np.arange(FEWEST, dtype=float)
    assert all(np.isfinite(interval(values)))
    for broken in (values[1:], np.array([*values, np.nan])):
        assert all(np.isnan(interval(broken)))
        for pair in ((broken, broken), (values, broken), (broken, values)):  # a NaN in either arm
            assert np.isnan(improvement(*pair)) == np.isnan(broken).any()
        assert all(np.isnan(paired(broken)[1:]))
    curves = np.full((FEWEST, 2), 3.0)
    assert [x.tolist() for x in interval(curves)] == [[3, 3], [3, 3]]
    curves[0, 0] = np.nan
    assert np.isnan(interval(curves)).tolist() == [[True] * 2] * 2  # its other columns are of the same broken run
    assert iqm(np.array([900.0, 1.0, 2.0, 3.0, -50.0])) == 2  # ⌊5 / 4⌋ = 1 on either side
    assert iqm(np.array([[9.0, 0.0, 4.0, 1.0], [8.0, 2.0, 3.0, 5.0]]), axis=1).tolist() == [2.5, 4]
    assert np.isnan(iqm(np.array([1.0, 2.0, 3.0, 4.0, np.nan])))
    many = np.random.default_rng(0).normal(size=(31, 4, 3))
    for axis in (0, 1, -1):
        np.testing.assert_allclose(iqm(many, axis), stats.trim_mean(many, 0.25, axis))


@pytest.mark.filterwarnings("error")
def test_paired_is_students_t_unpaired_welchs_and_differences_without_variance_are_certain() -> None:
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
    having, without = np.array([3.0, 4.0, 8.0, 5.0, 9.0, 7.0]), np.array([1.0, 2.0, 2.5, 0.0, 3.0])
    welch = stats.ttest_ind(having, without, equal_var=False)
    assert unpaired(having, without) == pytest.approx((4.3, *welch.confidence_interval(0.95), welch.pvalue))
    few = unpaired(having, without[:4])
    assert few.mean == pytest.approx(6 - 5.5 / 4)  # of few seeds nothing else
    assert np.isnan(few[1:]).all()
    assert unpaired(np.full(60, 0.1), np.full(30, 0.1)) == (0, 0, 0, 1)  # means of 0.1 differ in the last digit
    assert paired(np.zeros(6)) == known(0.0, 0.0) == (0, 0, 0, 1)
    assert paired(np.full(6, -2.0)) == known(-2.0, 0.0) == (-2, -2, -2, 0)
    assert unpaired(np.ones(5), np.zeros(5)) == (1, 1, 1, 0)
    assert paired(np.full(6, 0.1)).p == 0  # its standard deviation is 1e-17
    normal = pytest.approx((1, 1 - 1.959964 / 2, 1 + 1.959964 / 2, 2 * stats.norm.cdf(-2)))
    assert paired(np.ones(5), more=0.25) == unpaired(np.ones(5), np.zeros(5), more=0.25) == normal
    assert known(-1.0, 0.25) == pytest.approx((-1, -1 - 1.959964 / 2, -1 + 1.959964 / 2, 2 * stats.norm.cdf(-2)))
    assert np.isnan(known(1.0, np.nan)[1:]).all()


def test_improvement_counts_pairs_holm_is_by_hand_and_a_tenth_of_the_budget_reaches_a_threshold() -> None:
    having, without = np.array([1.0, 2.0, 3.0, 9.0, 9.0]), np.array([2.0, 2.0, 0.0, 9.0, 5.0])
    share = (1 + (1 + 1 / 2 + 1 / 2) + 3 + 2 * (4 + 1 / 2)) / 25
    assert improvement(having, without) == pytest.approx(share)
    assert improvement(having, without) == pytest.approx(stats.mannwhitneyu(having, without).statistic / 25)
    assert improvement(without, having) == pytest.approx(1 - share)
    assert (improvement(having + 10, having), improvement(having, having)) == (1, 0.5)
    assert reaching.normalized(np.array([-500.0, -80.0, -290.0]), -500, -80).tolist() == [0, 1, 0.5]
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])  # 0.04 * 1 may not fall
    found = holm(np.array([np.nan, 0.6, 0.02, np.nan, 0.9]))
    assert found[[1, 2, 4]].tolist() == [1, 0.06, 1] and np.isnan(found[[0, 3]]).all()
    assert np.isnan(holm(np.array([np.nan]))).all()
    times = pd.Series([20, np.nan, 10, 40, np.nan], index=[3, 4, 5, 6, 7])
    assert reaching.median_reached(times) == 40
    assert reaching.median_reached(times[:4]) == 20  # half of them had got there by then
    assert np.isnan(reaching.median_reached(times[[3, 4, 7]]))
    lucky, late, at_once = ([0.0] * 20 for _ in range(3))
    lucky[7], late[8:18], at_once[:10] = 80, [8, 10] * 5, [9] * 10
    rows = [lucky, late, at_once, [8.9] * 20, [np.nan] * 20]
    there = reaching.reached(pd.DataFrame(rows, index=[3, 4, 5, 6, 7], columns=range(10, 210, 10)), 9)
    pd.testing.assert_series_equal(there, pd.Series([np.nan, 180, 100, np.nan, np.nan], index=[3, 4, 5, 6, 7]))


@pytest.mark.parametrize(("agents", "over"), [(FEWEST, "agents"), (FEWEST - 1, "games")])
def test_scores_of_games_are_averaged_over_enough_agents_and_else_over_all_games(agents: int, over: str) -> None:
    scores = [[10.0 * k, 10.0 * k + 1] for k in range(agents)]
    values = np.array(scores).mean(axis=1) if over == "agents" else np.array(scores).ravel()
    games = pd.DataFrame([(seed, score) for seed, own in enumerate(scores) for score in own], columns=["seed", "score"])
    assert mean_score(games) == paired(values)
