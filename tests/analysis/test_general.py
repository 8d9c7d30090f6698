"""What holds in general, over environments, at one rate for all; and in a folder, over all of its questions. Answers in
units of return, of our runs and of others'."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.studies import study

from ablations import HELPS, HURTS, SCALES, effects
from ablations.analysis.by_rate import ONE_RATE, OWN_BEST, in_general, one_rate, random_effects, sensitivity
from ablations.analysis.ledger import fresh_seeds, ledger, looks, shares
from ablations.analysis.reading import Frames, as_study, seed_scores
from ablations.analysis.records import Study, save
from ablations.analysis.stats import LEVEL, exaggeration, holm, unpaired
from ablations.question.around import arm_by_arm
from ablations.question.designs import add_one_in, ladder, leave_one_out
from ablations.report.answer import Answer
from ablations.report.multiples import on_grids

ENVS = ("CartPole-v1", "Acrobot-v1", "Pendulum-v1")
ONE, TWO = ladder(["baseline"]), ladder(["baseline", "entropy"])
# Vaccination against tuberculosis, log relative risks and variances of 13 trials. Colditz et al. 1994, JAMA 271, 698.
RISKS = [-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209, 0.0120, -0.4694, -1.3713, -0.3394, 0.4459]
RISKS += [-0.0173]
VARIANCES = [0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230, 0.0040, 0.0564, 0.0730, 0.0124, 0.5325, 0.0714]


def test_a_mean_over_environments_is_dersimonian_and_laird_s_with_hartung_and_knapp_s_interval() -> None:
    found = random_effects(np.array(RISKS), np.array(VARIANCES) ** 0.5)
    assert (found.mean, found.spread**2) == pytest.approx((-0.7141, 0.3088), abs=5e-4)  # as metafor's rma(method="DL")
    weights = 1 / (np.array(VARIANCES) + found.spread**2)
    error = (weights @ (np.array(RISKS) - found.mean) ** 2 / 12 / weights.sum()) ** 0.5
    assert found.high - found.mean == pytest.approx(stats.t.ppf(0.975, 12) * error)
    assert found.p == pytest.approx(2 * stats.t.cdf(found.mean / error, 12))
    # with errors alike, it is Student's t: Q = 8 with 2 degrees of freedom, so τ² = 6 / 200
    found = random_effects(np.array([0.1, 0.3, 0.5]), np.full(3, 0.1))
    reach = 4.302653 * 0.2 / 3**0.5
    assert found[:3] == pytest.approx((0.3, 0.3 - reach, 0.3 + reach))
    assert (found.spread, found.places) == (pytest.approx(0.03**0.5), 3)


def test_equal_effects_have_no_spread_and_an_interval_as_if_errors_were_known_and_two_places_have_none() -> None:
    found = random_effects(np.full(4, 0.2), np.array([0.1, 0.2, 0.1, 0.3]))
    known = stats.t.ppf(0.975, 3) / (100 + 25 + 100 + 100 / 9) ** 0.5
    assert found[:3] == pytest.approx((0.2, 0.2 - known, 0.2 + known)) and found.spread == 0
    sure = random_effects(np.array([0.0, 0.3, 0.5]), np.array([0.0, 0.1, 0.1]))  # one without noise is not all
    assert 0.15 < sure.mean < 0.35 and sure.low < 0 < 0.5 < sure.high
    for values in ([0.1, 0.2], [0.1, 0.2, np.nan]):
        assert np.isnan(random_effects(np.array(values), np.full(len(values), 0.1))[1:5]).all()


@pytest.mark.parametrize("places", [3, 10])
@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_the_interval_over_environments_covers_nineteen_times_in_twenty(places: int, spread: float) -> None:
    rng, covered = np.random.default_rng(places), []
    for _ in range(600):
        errors = rng.uniform(0.02, 0.08, places)
        found = random_effects(rng.normal(0.1, np.hypot(spread, errors)), errors)
        covered.append(found.low <= 0.1 <= found.high)
    assert 0.93 < np.mean(covered) <= (0.98 if spread else 1)  # if all are alike, more often: it is never narrower


def tuned(env: str, scores: dict[str, dict[float, list[float]]]) -> Study:
    """A study whose arms had these normalized scores at these rates."""
    scale, made = SCALES[env], study(ONE, lambda on: 20 * len(on), env)
    unit = scale.ceiling - scale.random
    rates = {arm: [[lr, [scale.random + unit * x for x in xs]] for lr, xs in by.items()] for arm, by in scores.items()}
    return replace(made, about=made.about | {"tuning": rates})


def even(*means: float) -> dict[float, list[float]]:
    """Two rates, and six seeds that are alike."""
    return {lr: [mean] * 6 for lr, mean in zip((0.01, 0.1), means, strict=True)}


def test_one_rate_is_the_best_on_average_and_what_it_costs_is_sensitivity() -> None:
    """Without a baseline, 0.01 is the best rate in two of three environments; with it, 0.1 in all."""
    means, having = ((0.9, 0.5), (0.9, 0.5), (0.4, 0.8)), even(0.7, 0.75)
    some = [tuned(env, {"reinforce": even(*each), "+ baseline": having}) for env, each in zip(ENVS, means, strict=True)]
    first, second = sensitivity(some, ONE.arms).to_dict("records")
    assert (first["arm"], first["rate"], first["places"]) == ("reinforce", 0.01, 3)
    for end in ("", "_low", "_high"):  # all seeds are alike
        found = [first[f"{name}{end}"] for name in ("peak", "one", "sensitivity")]
        assert found == pytest.approx([2.6 / 3, 2.2 / 3, 0.4 / 3])
        assert second[f"sensitivity{end}"] == pytest.approx(0)
    own, one = in_general(some, "ladder").to_dict("records")
    assert (own["rates"], one["rates"], one["one"]) == (OWN_BEST, ONE_RATE, "0.01, 0.1")
    assert one["mean"] == pytest.approx(np.mean([-0.15, -0.15, 0.35]))
    found = [effects(each, ONE).iloc[0] for each in some]
    reported = random_effects(*(np.array([each[name] for each in found]) for name in ("difference", "error")))
    assert [own[name] for name in reported._fields] == [*reported]
    assert one_rate([{0.01: np.ones(2), 0.1: np.zeros(2)}, {0.1: np.zeros(2)}]) == 0.1  # tried in both
    spread = [k / 9 for k in range(10)]
    noisy = [tuned(env, {"reinforce": {0.01: spread, 0.1: [0.0] * 10}}) for env in ENVS]
    (row,) = sensitivity(noisy, ONE.arms[:1]).to_dict("records")
    reach = 1.96 * np.std(spread) / 30**0.5  # of three means of ten
    ends = row["peak_low"], row["peak_high"]
    assert row["peak"] == pytest.approx(0.5) and ends == pytest.approx((0.5 - reach, 0.5 + reach), abs=reach / 10)


@pytest.mark.parametrize("without_end", [0.01, 0.1])
def test_a_rate_at_which_some_seed_ends_no_episode_is_neither_the_one_rate_nor_the_peak(without_end: float) -> None:
    good = 0.11 - without_end
    here = {without_end: np.array([0.9, np.nan]), good: np.array([0.4, 0.6])}
    there = {without_end: np.array([0.9, 0.9]), good: np.array([0.3, 0.3])}
    places = [dict(sorted(place.items())) for place in (here, there, there)]
    assert one_rate(places) == pytest.approx(good)
    scores = {lr: [*each] * 3 for lr, each in places[0].items()}
    others = [{lr: [*each] * 3 for lr, each in place.items()} for place in places[1:]]
    some = [tuned(env, {"reinforce": own}) for env, own in zip(ENVS, (scores, *others), strict=True)]
    (row,) = sensitivity(some, ONE.arms[:1]).to_dict("records")
    assert (row["rate"], row["peak"], row["one"]) == pytest.approx((good, (0.5 + 0.9 + 0.9) / 3, (0.5 + 0.3 + 0.3) / 3))


def test_nothing_is_said_in_general_of_two_environments_or_without_a_scale_or_of_rates_that_were_given() -> None:
    some = [study(ONE, lambda on: 20 * len(on), env) for env in ENVS]
    assert in_general(some, "ladder").rates.tolist() == [OWN_BEST] and sensitivity(some, ONE.arms).empty
    assert in_general(some[:2], "ladder").empty and in_general([], "ladder").empty
    assert in_general([*some[:2], study(ONE, lambda on: 0, "Nowhere-v0")], "ladder").empty
    assert in_general(some, "factorial").empty


def test_what_holds_in_general_of_a_trick_is_of_the_environments_that_have_it_corrected_for_their_number() -> None:
    """In the full set without a trick, the full set may differ from place to place: the label says what is compared."""
    tricks = ["baseline", "entropy"], ["baseline", "entropy"], ["baseline", "entropy", "grad_clip"]
    some = [
        study(leave_one_out(names), lambda on: 40 * ("baseline" in on) + 9 * ("entropy" in on), env)
        for names, env in zip(tricks, ENVS, strict=True)
    ]
    found = in_general(some, "leave-one-out")
    assert found.label.tolist() == ["− baseline", "− entropy"]
    own = [effects(each, each.designs[0]).set_index("trick").loc["baseline"] for each in some]
    size, error = (np.array([row[name] for row in own]) for name in ("difference", "error"))
    assert found["mean"][0] == pytest.approx(random_effects(size, error).mean)
    assert found.p_holm.to_numpy() == pytest.approx(holm(found.p.to_numpy()))


@pytest.mark.parametrize("ratio", [0.5, -1.0, 2.0, 4.0])
@pytest.mark.parametrize("level", [LEVEL, 0.01])
def test_what_is_detected_exceeds_the_truth_as_drawn_estimates_do_hardly_if_large(ratio: float, level: float) -> None:
    drawn = np.random.default_rng(0).normal(ratio, 1, 200_000)
    seen = np.abs(drawn[np.abs(drawn) > stats.norm.ppf(1 - level / 2)])
    assert exaggeration(3 * ratio, 3.0, level) == pytest.approx(seen.mean() / abs(ratio), rel=0.01)
    assert exaggeration(10, 1) == pytest.approx(1, abs=1e-9)
    assert np.isnan([exaggeration(0, 1), exaggeration(1, 0), exaggeration(1, np.nan)]).all()


def test_seeds_that_a_question_claimed_are_its_own_and_no_other_s(tmp_path: Path) -> None:
    for claims, seeds in {
        (): range(3),
        (("b", 0, 5),): range(5, 8),
        (("b", 0, 5), ("a", 10, 3)): range(10, 13),
        (("a", 20, 4), ("a", 10, 3)): range(10, 13),  # of the same size comes first
        (("a", 10, 4),): range(10, 13),
        (("a", 10, 2), ("a", 20, 4)): range(20, 23),  # where it has that many
        (("a", 10, 2), ("b", 30, 2)): range(10, 13),  # and more, which are free
        (("a", 10, 2), ("b", 12, 1)): range(13, 16),
    }.items():
        assert fresh_seeds(tmp_path, ["a"], 3, claims) == (*seeds,)


def test_looks_double_and_share_the_level_and_an_interval_is_as_wide_as_its_share() -> None:
    assert looks(10, 100) == [10, 20, 40, 80, 100] and (looks(10, 10), looks(10, 5)) == ([10], [5])
    assert shares([10, 20, 40, 80, 100]) == pytest.approx([0.005, 0.005, 0.01, 0.02, 0.01])
    assert sum(shares(looks(7, 55))) == pytest.approx(0.05)
    whole = study(ONE, lambda on: 30 * len(on))
    one = replace(whole, about=whole.about | {"level": 0.01})
    found, at_once = (effects(each, ONE).iloc[0] for each in (one, whole))
    assert found.p == pytest.approx(5 * at_once.p)
    areas = 100 + 10 * np.arange(8.0)
    welch = stats.ttest_ind(areas + 30, areas, equal_var=False).confidence_interval(0.99)
    assert (found.low * whole.unit, found.high * whole.unit) == pytest.approx(welch)
    told = [Answer((each,)).effects.exaggeration[0] for each in (one, whole)]
    size = found.difference, found.error
    assert told == pytest.approx([exaggeration(*size, 0.01), exaggeration(*size)]) and told[0] > told[1]


def test_all_looks_together_are_wrong_in_under_5_percent_of_cases_and_without_their_shares_in_over_10() -> None:
    areas, ends = np.random.default_rng(0).normal(size=(2, 4000, 100)), looks(10, 100)
    p = np.array([stats.ttest_ind(*areas[:, :, :seeds], axis=1, equal_var=False).pvalue for seeds in ends])
    assert (p < np.array([shares(ends)]).T).any(0).mean() < LEVEL
    assert (p < LEVEL).any(0).mean() > 2 * LEVEL


def test_the_ledger_corrects_over_all_questions_of_a_folder() -> None:
    made = study(TWO, lambda on: 90 * ("baseline" in on) + 28 * ("entropy" in on))
    other = replace(study(ONE, lambda on: 29 * ("baseline" in on), ENVS[1]), name="other")
    found = ledger([made, other])
    p = np.concatenate([effects(made, TWO).p, effects(other, ONE).p])
    assert found.question.tolist() == [made.name] * 2 + ["other"]
    assert found.p_all.to_numpy() == pytest.approx(holm(p))
    assert found.stands.tolist() == (holm(p) < LEVEL).tolist() == [True, False, False]
    assert (p < LEVEL).sum() == 3  # alone, each would stand
    assert ledger([]).empty


def test_fresh_seeds_are_later_than_all_that_any_question_of_the_folder_has_had(tmp_path: Path) -> None:
    made = study(ONE, lambda on: 0)
    assert fresh_seeds(tmp_path, ["a"], 3) == (0, 1, 2)
    for name, question, first in (("one", "a", 0), ("two", "b", 8), ("three", "a", 20)):
        about = made.about | {"question": question, "seeds": [first, first + 8]}
        runs = made.runs.assign(seed=made.runs.seed + first)
        save(replace(made, name=name, runs=runs, about=about), tmp_path)
    assert fresh_seeds(tmp_path, ["a"], 10) == (*range(28, 38),)  # 8 and 9 are the other's, and 20 to 27 its own


def test_an_answer_has_one_correction_over_its_environments_in_units_of_return() -> None:
    here, there = (study(TWO, lambda on: 40 * ("baseline" in on) + 90 * ("entropy" in on), env) for env in ENVS[:2])
    found = Answer((here, there))
    table = found.effects
    assert table.env.tolist() == [ENVS[0]] * 2 + [ENVS[1]] * 2
    assert table.difference.to_numpy() == pytest.approx([40, 90] * 2)
    assert table.p_holm.to_numpy() == pytest.approx(holm(table.p.to_numpy()))
    assert table.p_holm[0] > effects(here, TWO).p_holm[0]
    assert found.table.area.to_numpy() == pytest.approx([135, 175, 265] * 2)
    assert table["without"].to_numpy() == pytest.approx([135, 175] * 2)
    assert table["with"].to_numpy() == pytest.approx([175, 265] * 2)


@pytest.mark.parametrize("effect", [90, -90, 10])
def test_a_difference_is_the_arm_minus_its_reference_also_where_a_trick_is_taken_out(effect: int) -> None:
    """What helps hurts where it is taken out: sign, interval, verdict, and who is better change sides."""
    out, put = (arm_by_arm(design(["baseline"])) for design in (leave_one_out, add_one_in))
    made = [study(design, lambda on: effect * ("baseline" in on)) for design in (out, put)]
    for each in made:
        for arm in each.designs[0].arms:
            tried = [20.0 * k + effect * arm.tricks.baseline for k in range(6)]
            each.about.setdefault("tuning", {})[arm.name] = [[lr, tried] for lr in (0.01, 0.1)]
    (taken, added), rows = (Answer((each,)) for each in made), []
    areas = 100 + 10 * np.arange(8.0)
    for answer, sign in ((taken, -1), (added, 1)):
        row = answer.effects.iloc[0]
        sides = (areas + effect, areas) if sign > 0 else (areas, areas + effect)
        assert row[["difference", "low", "high"]].tolist() == pytest.approx(unpaired(*sides)[:3])
        assert (row["with"], row["without"]) == pytest.approx((sides[0].mean(), sides[1].mean()))
        rows.append(row)
    flipped, row = rows
    assert (flipped.arm, flipped.against) == ("− baseline", out.arms[0].name)
    assert flipped.better == pytest.approx(1 - row.better) and flipped.p == row.p
    said = {90: (HURTS, HELPS), -90: (HELPS, HURTS), 10: ("unknown",) * 2}[effect]
    assert (flipped.verdict, row.verdict) == said


def test_a_best_rate_at_the_end_of_those_that_were_tried_is_marked() -> None:
    for rates, marked in (((0.01, 0.02), True), ((0.01, 0.02, 0.03), False), ((0.02,), False)):
        made = tuned(ENVS[0], {arm.name: {lr: [1.0] * 5 for lr in rates} for arm in ONE.arms})
        made.runs["arm"] = made.runs.tricks.map({"": "reinforce", "baseline": "+ baseline"})
        assert ("| 0.02 (the grid's edge) |" in Answer((made,)).tables[0]) == marked


def test_others_runs_differ_as_welch_says_by_hand() -> None:
    rng, rows = np.random.default_rng(0), list[dict[str, Any]]()
    areas = {arm: rng.normal(mean, 10, count) for arm, mean, count in (("a", 100, 6), ("b", 120, 9), ("c", 80, 7))}
    for arm, each in areas.items():
        for seed, area in enumerate(each):
            rows += [{"arm": arm, "seed": seed, "step": step, "return": area} for step in (10, 20, 30)]
    curves = pd.DataFrame(rows)
    runs = [seed_scores(own, 30).assign(arm=arm, study="x") for arm, own in curves.groupby("arm")]
    frames = Frames(pd.concat(runs), curves)
    found = Answer((as_study(frames, "b", on_grids(frames)),), curves).effects
    assert (found.arm.tolist(), set(found.against)) == (["a", "c"], {"b"})
    longer = Frames(frames.runs.assign(steps=60, late=999.0), curves)  # of which only a part is compared
    assert as_study(longer, "b", on_grids(frames)).runs.late.max() < 200
    for row in found.to_dict("records"):
        welch = stats.ttest_ind(areas[row["arm"]], areas["b"], equal_var=False)
        ends = welch.confidence_interval()
        assert (row["low"], row["high"], row["p"]) == pytest.approx((*ends, welch.pvalue))
    assert found.p_holm.to_numpy() == pytest.approx(holm(found.p.to_numpy()))
