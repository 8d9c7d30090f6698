"""Trials in worlds: two arms that differ in the trick, paired by seed; and what others found, held against effects."""

import re
import sys
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from support.fixtures import Patch
from support.studies import MADE_BY, study

from ablations.analysis import outcomes
from ablations.analysis.effects import HELPS, HURTS, NOTHING, UNKNOWN
from ablations.analysis.outcomes import Outcome, trial_table, trial_table_of
from ablations.analysis.records import COLUMNS, RESULTS, grid, load_all
from ablations.analysis.stats import LEVEL
from ablations.findings import claims
from ablations.findings.claims import AGREES, DESIGN, DISAGREES, UNCLEAR, claims_text, verdict_on
from ablations.findings.take_home import take_home
from ablations.question.arms import numbers, place
from ablations.question.designs import TRIALS, leave_one_out
from ablations.question.trial import Dose, Trial
from ablations.report import trials_section
from ablations.report.trials_section import caption, grown
from ablations.training.rates import FIXED
from tricks import Config
from tricks.envs.make import make_env
from tricks.ladder import LADDER, NEEDS
from tricks.worlds import LANGUAGE, SPECIMENS

TRIAL = Trial("baseline", (), (Dose(1, Config("tricks/OffsetReward-v0", steps=400, lanes=2, horizon=10)),), 1, "why")


def arm(returns: dict[int, float]) -> pd.DataFrame:
    facts = ["", TRIAL.env, 400, "lanes=2 horizon=10", "", 0.1, ""]
    rows = [[*facts, seed, *MADE_BY, np.nan, x, *[x] * 100] for seed, x in returns.items()]
    return pd.DataFrame(rows, columns=COLUMNS)


SHARED = {"functools", *(f"tricks.worlds.{name}" for name in ("cartpole", "walks", "cues", "chance"))}
BASE = {seed: float(seed) for seed in range(6)}
MORE = {seed: x + 1 for seed, x in BASE.items()}
ZERO = dict.fromkeys(range(6), 0.0)
HALF = 1.959964 / 2
HOPPER, WALKER, CHEETAH = "Hopper-v5", "Walker2d-v5", "HalfCheetah-v5"


def found(having: dict[int, float], without: dict[int, float] = BASE, trial: Trial = TRIAL) -> Outcome:
    return Outcome(trial, trial.doses[-1], arm(without), arm(having))


def outcome_of(trial: Trial, without: dict[int, float], having: dict[int, float]) -> dict[Any, Any]:
    (row,) = trial_table([found(having, without, trial)]).to_dict("records")
    return row


def test_every_trick_has_a_trial_whose_arms_differ_in_it_alone_and_whose_numbers_are_named() -> None:
    assert set(LADDER) <= {trial.trick for trial in TRIALS} <= set(NEEDS)
    for trial in TRIALS:
        assert set(trial.having.on) - set(trial.without.on) == {trial.trick}
        assert set(trial.without.on) <= set(trial.having.on)
        assert (len(trial.doses) > 1, trial.rate is not None) == (bool(trial.varied), bool(trial.rate_reason))
        for dose in trial.doses:
            assert (dose.config.lr, dose.config.seeds) == (Config.lr, Config.seeds)  # left to whoever runs it
            make_env(replace(dose.config, seeds=1, lanes=1)).close()
    envs = {dose.config.env for trial in TRIALS for dose in trial.doses}
    assert envs - {*LANGUAGE} | {"tricks/Grid0-v0", "tricks/Tasks-v0"} == {"CartPole-v1", "Pendulum-v1", *SPECIMENS}
    places = [(trial.trick, place(trial.env, numbers(trial.config), trial.rate)) for trial in TRIALS]
    assert len(set(places)) == len(places)  # those of one trick in one world are told apart
    assert numbers(Config(env="x", seeds=3, steps=7, lr=0.1, backend="tensor")) == ""
    assert numbers(Config(lanes=16, hidden=(32, 32))) == "lanes=16 hidden=(32,32)"


@pytest.mark.parametrize("score", ["area", "late"])
def test_the_difference_is_paired_by_seed(score: Literal["area", "late"]) -> None:
    base = dict(zip(range(6), (10.0, 500.0, 20.0, 900.0, 5.0, 70.0), strict=True))
    trial = replace(TRIAL, score=score)
    up = outcome_of(trial, base, {seed: x + 1 for seed, x in base.items()})
    assert (up["difference"], up["low"], up["high"], up["seen"]) == (1, 1, 1, 1)  # unpaired, it would be lost
    assert outcome_of(trial, base, {seed: base[5 - seed] for seed in base})["seen"] == 0
    assert outcome_of(trial, base, {seed: x - 1 for seed, x in base.items()})["seen"] == -1


def test_a_row_has_the_means_of_both_arms_unless_one_seed_has_no_score() -> None:
    having, without = arm({seed: 2 * x for seed, x in BASE.items()}), arm(BASE)
    having = having.assign(lr=0.3, diverged=[1, np.nan, 5, 7, np.nan, np.nan])
    row = Outcome(TRIAL, TRIAL.doses[-1], without.assign(diverged=[3.0] * 6), having).row()
    assert (row["without"], row["with"], row["lr_without"], row["lr_with"]) == (2.5, 5, 0.1, 0.3)
    assert (row["diverged"], row["seeds"]) == (9, 6)
    curve = grid(arm({7: 3.0}), 400)
    assert (curve.index.tolist(), curve.columns[-1], set(curve.loc[7])) == ([7], 400, {3.0})
    row = found(BASE, BASE | {3: np.nan}).row()
    assert np.isnan([row["without"], row["difference"]]).all() and (row["with"], row["doses"]) == (2.5, "1:+nan")
    row = outcome_of(TRIAL, BASE, BASE | {3: np.nan})
    assert np.isnan(row["with"]) and row["seen"] == 0 and "no episode ended" in caption(pd.DataFrame([row]))


def test_the_noise_of_choosing_both_rates_is_in_the_interval(monkeypatch: Patch) -> None:
    drawn: dict[str, np.ndarray | None] = {"": np.array([0.0, 0.0]), "baseline": np.array([-0.5, 0.5])}
    monkeypatch.setattr(outcomes, "table_areas", lambda env, steps, given, tricks: tricks)
    monkeypatch.setattr(outcomes, "chosen_means", lambda tricks, lr: drawn[tricks])  # of the tuning seeds
    chosen = outcome_of(TRIAL, BASE, MORE)
    assert (chosen["difference"], chosen["choosing"]) == (1, 0.5)
    assert (chosen["low"], chosen["high"]) == pytest.approx((1 - HALF, 1 + HALF), abs=1e-4)
    for best in (1, 2, 500):  # it is in the units of the score, whatever its best
        row = outcome_of(replace(TRIAL, doses=(TRIAL.doses[0]._replace(best=best),)), BASE, BASE)
        assert (row["choosing"], row["low"], row["high"]) == pytest.approx((0.5, -HALF, HALF), abs=1e-4)
    given = outcome_of(replace(TRIAL, rate=0.1), BASE, MORE)  # nothing was chosen
    assert (given["choosing"], given["low"], given["high"]) == (0, 1, 1)
    unknown = outcome_of(replace(TRIAL, score="late"), BASE, MORE)  # of tuning seeds, only the areas are kept
    assert np.isnan(unknown["choosing"]) and (unknown["low"], unknown["high"]) == (1, 1)
    drawn[""] = drawn["baseline"]  # both arms choose alike, so they differ by the same, whatever they choose
    assert (outcome_of(TRIAL, BASE, MORE)["choosing"], outcome_of(TRIAL, BASE, MORE)["low"]) == (0, 1)
    drawn[""] = None  # an arm of which it is not known adds none
    assert found(BASE).choice_noise.tolist() == [-0.5, 0.5]
    drawn["baseline"] = None
    assert found(BASE).choice_noise.tolist() == [0]


def test_a_chosen_rate_at_the_edge_is_marked_and_a_given_one_is_not(monkeypatch: Patch) -> None:
    monkeypatch.setattr(outcomes, "at_edge", lambda *arm: arm[:4] != (TRIAL.env, 400, "lanes=2 horizon=10", ""))
    base = dict.fromkeys(range(6), 0.5)
    chosen, given = (outcome_of(replace(TRIAL, rate=rate), base, base) for rate in (None, 0.1))
    assert [trials_section.arm(row, "with") for row in (chosen, given)] == ["0.5 (0.1, edge)", "0.5 (0.1)"]
    assert trials_section.arm(chosen, "without") == "0.5 (0.1)"


NOISE = np.array([0.0, 0.02, -0.02, 0.01, -0.01, 0.0])
NONE, RIGHT, OTHER = "nothing (±0.05)", outcomes.AS_PREDICTED, outcomes.OTHER_WAY


@pytest.mark.parametrize(
    ("differences", "said", "outcome"),
    [
        *((by + NOISE / 10, NONE, RIGHT) for by in (0.04, -0.04, 0.02)),  # there is something, but little
        (NOISE, NONE, RIGHT),
        (10 * NOISE, "no detectable effect", outcomes.UNDETECTED),  # it could be more than the margin
        *((by + 10 * NOISE, "no detectable effect", outcomes.UNDETECTED) for by in (0.1, -0.1)),  # or reach past it
        *((by + 0 * NOISE, "up" if by > 0 else "down", OTHER) for by in (TRIAL.margin, -TRIAL.margin)),
        *((by + NOISE, "up" if by > 0 else "down", OTHER) for by in (0.1, -0.1)),
    ],
)
def test_no_effect_is_an_interval_within_the_margin(differences: np.ndarray, said: str, outcome: str) -> None:
    trial, having = replace(TRIAL, predicted=0), dict(enumerate(differences))
    row = outcome_of(replace(trial, score="late"), ZERO, having)
    assert (row["outcome"], trials_section.seen(row), row["small"]) == (outcome, said, said == NONE)
    assert "of 1 tricks, 0 have the predicted effect" in trials_section.tally(pd.DataFrame([row]))
    assert NONE in trials_section.trials_text(pd.DataFrame([row]))
    wide = replace(trial, doses=(trial.doses[-1]._replace(best=100),))  # of which the same differences are nothing
    assert outcome_of(wide, ZERO, having)["small"]


def test_the_table_shows_an_effect_before_none_and_of_a_seed_the_first_run(monkeypatch: Patch) -> None:
    frame = trial_table([found(BASE, trial=replace(TRIAL, predicted=0)), found(MORE)])
    (row,) = trials_section.by_trick(frame).splitlines()[2:]
    assert "| up " in row and "2 of 2" in row
    assert "2 came out as predicted (1 of them with no effect)" in trials_section.tally(frame)
    assert trial_table([found(MORE)]).seen.tolist() == [1]
    monkeypatch.setattr(outcomes, "holm", lambda p: np.full(len(p), LEVEL))
    assert trial_table([found(MORE)]).seen.tolist() == [0]
    runs = pd.concat([arm(BASE), arm(BASE).assign(tricks="baseline")])
    later = arm({seed: x + 9 for seed, x in BASE.items()}).assign(tuned="tuned at 9 steps")
    trial = outcomes.outcome(TRIAL, pd.concat([runs, later, later.assign(tricks="baseline", tuned=FIXED)]))
    assert trial is not None and (len(trial.without), trial.differences.tolist()) == (6, [0] * 6)


def test_a_trial_that_two_studies_have_counts_once_and_in_each_as_one_of_all_its_trials() -> None:
    (every,) = (study for study in load_all(RESULTS) if not study.designs)
    alone = trial_table_of([every])
    worlds = alone.world[alone.trick == "clip"]
    some = replace(every, name="worlds_clip", runs=every.runs[every.runs.env.isin(worlds)], again=None)
    both = trial_table_of([some, every])
    others = ~both.world.isin(worlds)
    assert len(both) == len(alone) and both.p_holm[others].tolist() == alone.p_holm[others].tolist()
    assert (both.p_holm[~others] <= alone.p_holm[~others]).all()


def test_every_world_says_in_its_docstring_what_was_seen_in_it() -> None:
    words = {1: "better with", 0: "no detectable effect", -1: "worse with"}
    seen: dict[str, set[tuple[str, str]]] = {}
    for row in trial_table_of(load_all(RESULTS)).to_dict("records"):
        if row["world"] in SPECIMENS:
            world = SPECIMENS[row["world"]]
            modules = {f.__module__ for f in (world.initial, world.dynamics, world.observe)} - SHARED
            (module,) = modules & {world.dynamics.__module__} or modules
            seen.setdefault(module, set()).add((row["trick"], words[row["seen"]]))
    for module, verdicts in seen.items():
        said = " ".join((sys.modules[module].__doc__ or "").split()).split("Seen on seeds 100 to 119: ")[1]
        assert set(re.findall(rf"(\w+)(?: at [^;,]+?)?,? ({'|'.join(words.values())})", said)) == verdicts, module


def test_a_trial_in_doses_is_judged_at_the_last_one_and_grows_over_all(monkeypatch: Patch) -> None:
    """At the last dose the draws of the tuning seeds are ±0.4 apart, a share of ±0.2, of which half is in the slope."""
    shares = np.array([[0.0, 0.2, 0.4], [0.1, 0.1, 0.1]])
    np.testing.assert_allclose(shares @ outcomes.slope_weights([0, 1, 2]), [0.2, 0], atol=1e-12)
    np.testing.assert_allclose(shares[:, [0, 2]] @ outcomes.slope_weights([0, 2]), [0.2, 0], atol=1e-12)
    assert np.isnan(outcomes.slope_weights([0])).all()
    doses = tuple(Dose(dose, replace(TRIAL.config, gamma=0.9 - dose / 100), best=2) for dose in (0, 6, 18))
    trial, frames = replace(TRIAL, doses=doses, varied="loan"), list[pd.DataFrame]()
    for dose, gain in zip(doses, (0.0, 1.0, 2.0), strict=True):  # what the trick adds to returns of at best 2
        for flag, more in (("", 0.0), ("baseline", gain)):
            runs = arm({seed: x + more + 0.01 * (seed % 2) * bool(flag) for seed, x in BASE.items()})
            frames.append(runs.assign(numbers=numbers(dose.config), tricks=flag))
    judged = outcomes.outcome(trial, pd.concat(frames))
    assert judged is not None
    row = judged.row()
    assert row["difference"] == pytest.approx(2.005)
    assert row["doses"] == "0:+0.002 6:+0.502 18:+1.002"  # as shares of the best score, 2
    assert (row["growth"], row["growth_low"]) == (pytest.approx(0.5), pytest.approx(0.5))
    assert all(outcomes.outcome(trial, pd.concat(frames[:k])) is None for k in (4, 5))  # an arm of the last is missing

    by = {"baseline gamma=0.72": np.array([-0.4, 0.4])}  # the noise of choosing the rates of every dose
    monkeypatch.setattr(outcomes, "table_areas", lambda env, steps, given, tricks: f"{tricks} {given.split()[-1]}")
    monkeypatch.setattr(outcomes, "chosen_means", lambda arm, lr: by.get(arm, np.zeros(2)))
    noisy = outcomes.outcome(trial, pd.concat(frames))
    assert noisy is not None and noisy.growth[:2] == pytest.approx((0.5, 0.5 - HALF / 5), abs=1e-4)


def test_an_effect_counts_after_correction_and_grows_if_its_slope_is_clear_of_zero() -> None:
    slopes = {"predicted": [1, 1, -1, -1], "growth_low": [0.1, -0.1, -0.3, 0.1], "growth_high": [0.2, 0.1, -0.1, 0.2]}
    frame = pd.DataFrame(slopes)
    assert "In 2 of 4 trials" in grown(frame)
    assert "in 1 it goes the other way; in 1 the slope's 95% interval includes 0" in grown(frame)
    assert grown(frame.assign(growth_low=np.nan)) == ""
    noise = np.random.default_rng(0).normal(size=8)
    base = dict(enumerate(noise))
    weak = found({k: x + 0.5 + noise[-k] for k, x in base.items()}, base)
    alone, many = trial_table([weak]), trial_table([weak] * 20)
    assert alone.p[0] == alone.p_holm[0] < 0.05 and alone.seen[0] == 1
    np.testing.assert_allclose(many.p_holm, np.minimum(1, 20 * alone.p[0]))
    assert (many.seen == 0).all()
    up, down = ({seed: sign * (10.0 + seed) for seed in ZERO} for sign in (1, -1))
    for second, confirmed in ((up, 1), (down, 0), (ZERO, 0)):
        frame = trial_table([found(up, ZERO)], [found(second, ZERO)])
        assert frame.confirmed.tolist() == [confirmed]
        assert f"{confirmed} were seen again on other seeds" in caption(frame)
        assert ("not confirmed" in trials_section.trials_text(frame)) == (confirmed == 0)
    assert trial_table([found(ZERO, ZERO)], [found(up, ZERO)]).confirmed.isna().all()  # nothing was seen to confirm
    assert trial_table([found(up, ZERO)]).again.isna().all()


def effect(trick: str, env: str, difference: float, verdict: str) -> dict[str, Any]:
    detected = {HELPS: 1, HURTS: -1}.get(verdict, 0)
    span = {"difference": difference, "low": difference - 0.02, "high": difference + 0.02}
    return {"design": DESIGN, "trick": trick, "env": env, "detected": detected, "verdict": verdict, **span}


@pytest.mark.parametrize(
    ("says", "verdict", "expected"),
    [
        *((says, verdict, AGREES) for says, verdict in ((1, HELPS), (0, NOTHING), (-1, HURTS))),
        *((says, verdict, DISAGREES) for says, verdict in ((1, HURTS), (1, NOTHING), (0, HURTS))),
        *((says, UNKNOWN, UNCLEAR) for says in (-1, 0, 1)),
    ],
)
def test_an_effect_agrees_disagrees_or_cannot_tell(says: int, verdict: str, expected: str) -> None:
    size = {HELPS: 0.2, HURTS: -0.2, UNKNOWN: 0.04}.get(verdict, 0.0)
    assert verdict_on(says, effect("clip", HOPPER, size, verdict)) == expected
    tiny = effect("clip", HOPPER, 0.02, HELPS) | {"low": 0.01, "high": 0.03}  # detected, and certainly small
    assert verdict_on(says, tiny) == (DISAGREES if says == -1 else AGREES)


def test_every_claim_is_judged_where_it_was_made_and_no_two_are_about_the_same() -> None:
    effects = [effect("return_norm", env, 0.2, HELPS) for env in (HOPPER, WALKER, CHEETAH)]  # said to hurt on Walker2d
    effects += [effect("advantage_norm", HOPPER, 0.0, NOTHING), effect("dual_clip", HOPPER, 0.5, HELPS)]
    judged = f"our results support 3, contradict 1 (`return_norm` on {WALKER}), and leave none open."
    assert claims_text(pd.DataFrame(effects)).endswith(judged)
    assert claims_text(pd.DataFrame(effects[-1:])) == ""  # nobody says anything about dual_clip
    every = claims.CLAIMS.assign(env=claims.CLAIMS.envs.str.split(), by=claims.CLAIMS.source.str.split(",").str[0])
    assert not every.explode("env")[["trick", "env", "by"]].duplicated().any()
    assert {*every.trick} <= {*NEEDS} and {*every.says} == {-1, 0, 1}


def test_a_study_that_lacks_runs_says_nothing() -> None:
    made = study(leave_one_out(["baseline", "clip"]), lambda on: 90 * ("clip" in on))
    (said,) = take_home([made], pd.DataFrame(), [], [])
    assert "on CartPole-v1 `clip` (+0.19, not tried again)" in said
    lacking = replace(made, runs=made.runs[made.runs.tricks != made.runs.tricks.iloc[-1]])
    assert take_home([lacking], pd.DataFrame(), [], []) == []
