"""Sentences agree with the effects, and are left out where runs are missing."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.studies import study

from ablations.analysis.studies import Study
from ablations.design.designs import add_one_in, ladder, leave_one_out
from ablations.findings.our_designs import beyond, beyond_normed
from ablations.report.sentences import across, of
from ablations.report.sentences import beyond as of_beyond
from ablations.report.tables import arms_table, arms_text, failures

NAMES = ["baseline", "clip", "entropy"]
THREE = ["shared_trunk", "ppg", "ppg_buffers"]


def several(env: str, value: int) -> Study:
    """A study of three designs in which clip adds `value` and entropy always takes 60."""
    value_of = lambda on: value * ("clip" in on) - 60 * ("entropy" in on)  # noqa: E731
    made = [study(design(NAMES), value_of, env) for design in (ladder, leave_one_out, add_one_in)]
    runs = pd.concat([one.runs for one in made]).drop_duplicates(["tricks", "seed"])
    return replace(made[0], designs=tuple(one.designs[0] for one in made), runs=runs)


def test_what_is_detected_is_said_unless_runs_are_missing() -> None:
    made = several("CartPole-v1", 90)
    assert of(made) == [
        "On CartPole-v1 (8 seeds), the ladder takes the area under the curve from 135 to 165. "
        "Detected among its 3 steps: up with `clip` (+0.19), down with `entropy` (-0.13).",
        "On CartPole-v1 (8 seeds), detected when a trick is alone: `clip` helping, `entropy` hurting. Detected when it "
        "is taken out of the full set, with what needs it: `clip` missed, `entropy` better left out.",
    ]
    one, *_ = of(study(ladder(("clip",)), lambda on: 90 * ("clip" in on), "CartPole-v1"))
    assert "Detected among its only step: up with `clip`" in one
    assert of(replace(made, runs=made.runs[made.runs.tricks != ""])) == []


def test_environments_are_set_against_each_other() -> None:
    here, there = several("CartPole-v1", 60), several("Acrobot-v1", -60)
    assert across([here]) == across([here, here]) == ""  # one environment, twice
    assert across([here, there]).endswith(
        "hurting in another: `clip`. Detected neither alone nor when taken out: `baseline`."
    )
    sure = replace(here, again=here)
    assert across([here, replace(there, again=there)]) == ""  # only one of them was tried again
    assert across([sure, replace(there, again=there)]).endswith(
        "confirmed as helping in one place and hurting in another: `clip`. Confirmed neither alone nor when taken out: "
        "`baseline`."
    )
    nothing = several("Acrobot-v1", 0)  # what helps in one place and does nothing in another is neither
    for both, said in (([sure, replace(there, again=nothing)], "Confirmed"), ([here, nothing], "Detected")):
        assert across(both).endswith(f"in another: none. {said} neither alone nor when taken out: `baseline`.")


def test_environments_with_more_seeds_are_not_counted_together_with_those_that_have_fewer() -> None:
    here, there = several("CartPole-v1", 90), several("Acrobot-v1", -90)
    fewer = replace(there, about=there.about | {"seeds": [0, 7]}, runs=there.runs[there.runs.seed < 7])
    assert across([here, fewer]) == ""
    third = replace(several("Pendulum-v1", 0), name="third")
    said = across([here, fewer, third, replace(fewer, runs=fewer.runs.assign(env="Taxi-v4"))])
    assert said.startswith("In 2 environments (8 seeds), ")
    assert ". In 2 environments (7 seeds), " in said


def test_of_what_is_beyond_the_ladder_it_is_said_where_it_helps_and_where_it_hurts() -> None:
    here = study(beyond(THREE), lambda on: 40 * ("ppg" in on) - 60 * ("shared_trunk" in on))
    there = study(beyond(THREE), lambda on: 60 * ("shared_trunk" in on), "Acrobot-v1")
    normed = study(beyond_normed(THREE), lambda on: 0, "Pendulum-v1")
    assert of_beyond([here, there, normed, replace(here, name="again")]) == [
        "On top of `ppo`, in 2 environments (8 seeds): `shared_trunk` helps on Acrobot-v1 (+0.14) and hurts on "
        "CartPole-v1 (-0.13); `ppg` helps on CartPole-v1 (+0.08); `ppg_buffers` (on `ppg`) is detected nowhere.",
        "On top of `ppo` with `return_norm`, in 1 environment (8 seeds): `shared_trunk` is detected nowhere; `ppg` is "
        "detected nowhere; `ppg_buffers` (on `ppg`) is detected nowhere.",
    ]
    assert of_beyond([several("CartPole-v1", 60)]) == []
    assert of_beyond([study(beyond(THREE), lambda on: 0, seeds=2)]) == []  # too few to detect anything
    assert of_beyond([replace(here, runs=here.runs[here.runs.tricks.str.contains("ppg")])]) == []


def test_at_a_ceiling_the_share_of_failing_seeds_stands_in_place_of_an_interval_without_width() -> None:
    late = np.full(30, 500.0)
    assert failures(late, "CartPole-v1")["failing_high"] == pytest.approx(0.1135, abs=1e-4)  # Wilson, 0 of 30
    late[:3] = 100
    assert failures(late, "CartPole-v1")["failing"] == pytest.approx(0.1)
    for by in (50, 20):  # below the ceiling the mean says enough, and between it and the threshold
        assert np.isnan(failures(late - by, "CartPole-v1")["failing"])
    late[:3] = 475, 474.9, 499  # to reach the threshold is enough, and the ceiling is not asked for
    assert failures(late, "CartPole-v1")["failing"] == pytest.approx(1 / 30)
    assert np.isnan(failures(late, "MiniGrid-Unlock-v0")["failing"])  # no threshold
    made = study(design := ladder(["baseline"]), lambda on: 0)
    text = arms_text(arms_table(replace(made, runs=made.runs.assign(late=500.0)), design), made)
    assert "500.0, failing 0% [0%, 32%]" in text
