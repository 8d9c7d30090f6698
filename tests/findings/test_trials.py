"""Worlds: a trial's two arms differ only in the trick, are paired by seed, and run at their own rates."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from support.one_trial import TRIAL, arm, outcome_of

from ablations.analysis import outcomes
from ablations.analysis.study_files import RESULTS, load_all
from ablations.design.flag_sets import numbers
from ablations.design.labels import place
from ablations.design.registry import TRIALS
from ablations.design.trial import Dose, Trial
from ablations.report import trials_section
from ablations.report.trials_section import caption, grown
from ablations.training import rate_table, rates
from tricks import Config
from tricks.envs.make import make_env
from tricks.ladder import LADDER, NEEDS
from tricks.worlds import SPECIMENS

SHARED = {"functools", *(f"tricks.worlds.{name}" for name in ("cartpole", "walks", "cues", "chance"))}


def test_every_trick_has_a_trial_whose_arms_differ_in_it_alone() -> None:
    assert set(LADDER) <= {trial.trick for trial in TRIALS} <= set(NEEDS)
    for trial in TRIALS:
        assert set(trial.having.on) - set(trial.without.on) == {trial.trick}
        assert set(trial.without.on) <= set(trial.having.on)
        assert (len(trial.doses) > 1) == bool(trial.varied)
        assert (trial.rate is not None) == bool(trial.rate_reason)
        for dose in trial.doses:
            assert (dose.config.lr, dose.config.seeds) == (Config.lr, Config.seeds)  # left to whoever runs it
            make_env(replace(dose.config, seeds=1, lanes=1)).close()
    envs = {dose.config.env for trial in TRIALS for dose in trial.doses}
    assert envs | {"tricks/Grid0-v0", "tricks/Tasks-v0"} == {"CartPole-v1", "Pendulum-v1", *SPECIMENS}


@pytest.mark.parametrize("score", ["area", "late"])
def test_the_difference_is_paired_by_seed(score: Literal["area", "late"]) -> None:
    base = dict(zip(range(6), (10.0, 500.0, 20.0, 900.0, 5.0, 70.0), strict=True))
    trial = replace(TRIAL, score=score)
    up = outcome_of(trial, base, {seed: x + 1 for seed, x in base.items()})
    assert (up["difference"], up["low"], up["high"], up["seen"]) == (1, 1, 1, 1)  # unpaired, it would be lost
    swapped = {seed: base[5 - seed] for seed in base}
    assert outcome_of(trial, base, swapped)["seen"] == 0
    down = outcome_of(trial, base, {seed: x - 1 for seed, x in base.items()})
    assert down["seen"] == -1


def test_the_noise_of_choosing_both_rates_is_in_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    means = {"": np.array([0.0, 0.0]), "baseline": np.array([-0.5, 0.5])}
    monkeypatch.setattr(outcomes, "chosen_means", lambda env, steps, given, tricks, lr: means[tricks])
    base = {seed: float(seed) for seed in range(6)}
    more = {seed: x + 1 for seed, x in base.items()}
    chosen = outcome_of(TRIAL, base, more)
    assert (chosen["difference"], chosen["choosing"]) == (1, 0.5)
    assert (chosen["low"], chosen["high"]) == pytest.approx((1 - 1.95996 / 2, 1 + 1.95996 / 2), abs=1e-4)
    means[""] = means["baseline"]  # both arms choose alike, so they differ by the same, whatever they choose
    assert (outcome_of(TRIAL, base, more)["choosing"], outcome_of(TRIAL, base, more)["low"]) == (0, 1)
    means[""] = np.array([0.0, 0.0])
    given = outcome_of(replace(TRIAL, rate=0.1), base, more)  # nothing was chosen
    assert (given["choosing"], given["low"], given["high"]) == (0, 1, 1)
    unknown = outcome_of(replace(TRIAL, score="late"), base, more)  # of tuning seeds, only the areas are kept
    assert np.isnan(unknown["choosing"])
    assert (unknown["low"], unknown["high"]) == (1, 1)


def test_the_noise_of_choosing_is_in_the_units_of_the_score_whatever_its_best(monkeypatch: pytest.MonkeyPatch) -> None:
    means = {"": np.array([0.0, 0.0]), "baseline": np.array([-0.5, 0.5])}
    monkeypatch.setattr(outcomes, "chosen_means", lambda env, steps, given, tricks, lr: means[tricks])
    base = {seed: float(seed) for seed in range(6)}
    for best in (1, 2, 500):
        row = outcome_of(replace(TRIAL, doses=(TRIAL.doses[0]._replace(best=best),)), base, base)
        assert row["choosing"] == pytest.approx(0.5)
        assert (row["low"], row["high"]) == pytest.approx((-1.95996 / 2, 1.95996 / 2), abs=1e-4)


def test_numbers_name_what_is_not_the_default_and_what_a_rate_depends_on() -> None:
    assert numbers(Config(env="x", seeds=3, steps=7, lr=0.1, backend="tensor")) == ""
    assert numbers(Config(lanes=16, hidden=(32, 32))) == "lanes=16 hidden=(32,32)"


def test_a_seed_in_which_no_episode_ended_is_not_passed_over() -> None:
    base = {seed: float(seed) for seed in range(6)}
    row = outcome_of(TRIAL, base, base | {3: np.nan})
    assert np.isnan(row["with"])
    assert row["seen"] == 0
    assert "no episode ended" in caption(pd.DataFrame([row]))


def test_trials_of_one_trick_in_one_world_are_told_apart() -> None:
    places = [(trial.trick, place(trial.env, numbers(trial.config), trial.rate)) for trial in TRIALS]
    assert len(set(places)) == len(places)


def test_a_rate_is_chosen_by_the_score_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = ((0.001, 5.0, 1.0), (0.01, 4.0, 2.0), (0.03, 3.0, None))
    rows = [("x", 9, "", "", *score, 8, "") for score in scores]
    monkeypatch.setattr(rate_table, "TABLE", tmp_path / "rates.csv")
    rate_table.store_table(pd.DataFrame(rows, columns=rate_table.COLUMNS))
    found = [rates.best_rate(Config(env="x", steps=9), TRIAL.without, score)[0] for score in ("area", "late")]
    rate_table.table.cache_clear()
    assert found == [0.001, 0.01]


def test_every_world_says_in_its_docstring_what_was_seen_in_it() -> None:
    words = {1: "better with", 0: "no detectable effect", -1: "worse with"}
    seen: dict[str, set[tuple[str, str]]] = {}
    for row in outcomes.trial_table(outcomes.outcomes(load_all(RESULTS))).to_dict("records"):
        if row["world"] in SPECIMENS:
            world = SPECIMENS[row["world"]]
            modules = {f.__module__ for f in (world.initial, world.dynamics, world.observe)} - SHARED
            (module,) = modules & {world.dynamics.__module__} or modules
            seen.setdefault(module, set()).add((row["trick"], words[row["seen"]]))
    for module, verdicts in seen.items():
        doc = " ".join((sys.modules[module].__doc__ or "").split())
        said = doc.split("Seen on seeds 100 to 119: ")[1]
        assert set(re.findall(rf"(\w+)(?: at [^;,]+?)?,? ({'|'.join(words.values())})", said)) == verdicts, module


def test_the_growth_is_the_slope_of_the_shares_over_the_levels() -> None:
    shares = np.array([[0.0, 0.2, 0.4], [0.1, 0.1, 0.1]])
    np.testing.assert_allclose(shares @ outcomes.slope_weights([0, 1, 2]), [0.2, 0], atol=1e-12)
    np.testing.assert_allclose(shares[:, [0, 2]] @ outcomes.slope_weights([0, 2]), [0.2, 0], atol=1e-12)
    assert np.isnan(outcomes.slope_weights([0])).all()


def dosed() -> tuple[Trial, list[pd.DataFrame]]:
    """A trial at three doses, and the runs of both arms at each, whose effects are 0, 1, and 2 of a best score of 2."""
    base = {seed: float(seed) for seed in range(6)}
    doses = tuple(Dose(dose, replace(TRIAL.config, gamma=0.9 - dose / 100), best=2) for dose in (0, 6, 18))
    trial = replace(TRIAL, doses=doses, varied="loan")
    frames = []
    for dose, gain in zip(doses, (0.0, 1.0, 2.0), strict=True):
        for flag, by in (("", 0.0), ("baseline", gain)):
            runs = arm({seed: x + by + 0.01 * (seed % 2) * bool(flag) for seed, x in base.items()}).runs
            frames.append(runs.assign(numbers=numbers(dose.config), tricks=flag))
    return trial, frames


def test_a_trial_in_doses_is_judged_at_the_last_one_and_grows_over_all() -> None:
    trial, frames = dosed()
    found = outcomes.outcome(trial, pd.concat(frames))
    assert found is not None
    row = found.row()
    assert row["difference"] == pytest.approx(2.005)
    assert row["doses"] == "0:+0.002 6:+0.502 18:+1.002"  # as shares of the best score, 2
    assert (row["growth"], row["growth_low"]) == (pytest.approx(0.5), pytest.approx(0.5))
    assert outcomes.outcome(trial, pd.concat(frames[:4])) is None  # the last dose is missing


def test_the_noise_of_choosing_the_rates_of_every_dose_is_in_the_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the last dose the draws of the tuning seeds are ±0.4 apart, a share of ±0.2, of which half is in the slope."""

    def chosen(env: str, steps: int, given: str, tricks: str, lr: float) -> np.ndarray:
        return np.array([-0.4, 0.4]) * (tricks == "baseline" and "gamma=0.72" in given)

    trial, frames = dosed()
    monkeypatch.setattr(outcomes, "chosen_means", chosen)
    found = outcomes.outcome(trial, pd.concat(frames))
    assert found is not None
    assert (found.growth.mean, found.growth.low) == (pytest.approx(0.5), pytest.approx(0.5 - 1.95996 / 10, abs=1e-4))


def test_an_effect_grows_as_predicted_if_its_slope_is_clear_of_zero_and_has_the_predicted_sign() -> None:
    slopes = {"predicted": [1, 1, -1, -1], "growth_low": [0.1, -0.1, -0.3, 0.1], "growth_high": [0.2, 0.1, -0.1, 0.2]}
    frame = pd.DataFrame(slopes)
    assert "In 2 of 4 trials" in grown(frame)
    assert "in 1 it goes the other way; in 1 the slope's 95% interval includes 0" in grown(frame)
    assert grown(frame.assign(growth_low=np.nan)) == ""


def test_an_effect_counts_after_correction_for_all_trials() -> None:
    noise = np.random.default_rng(0).normal(size=8)
    base = dict(enumerate(noise))
    weak = outcomes.Outcome(TRIAL, TRIAL.doses[-1], arm(base), arm({k: x + 0.5 + noise[-k] for k, x in base.items()}))
    alone = outcomes.trial_table([weak])
    assert alone.p[0] == alone.p_holm[0] < 0.05
    assert alone.seen[0] == 1
    many = outcomes.trial_table([weak] * 20)
    np.testing.assert_allclose(many.p_holm, np.minimum(1, 20 * alone.p[0]))
    assert (many.seen == 0).all()


def test_what_was_seen_is_confirmed_by_the_same_sign_on_other_seeds() -> None:
    base = dict.fromkeys(range(8), 0.0)
    up, down = ({seed: sign * (10.0 + seed) for seed in base} for sign in (1, -1))

    def found(having: dict[int, float]) -> outcomes.Outcome:
        return outcomes.Outcome(TRIAL, TRIAL.doses[-1], arm(base), arm(having))

    for second, confirmed in ((up, 1), (down, 0), (base, 0)):
        frame = outcomes.trial_table([found(up)], [found(second)])
        assert frame.confirmed.tolist() == [confirmed]
        assert f"{confirmed} were seen again on other seeds" in caption(frame)
        assert ("not confirmed" in trials_section.trials_text(frame)) == (confirmed == 0)
    assert (
        outcomes.trial_table([found(base)], [found(up)]).confirmed.isna().all()
    )  # nothing was seen, so nothing to confirm
    assert outcomes.trial_table([found(up)]).again.isna().all()
