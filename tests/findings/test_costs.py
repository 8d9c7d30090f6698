"""What docs/internal/speed.md says a large study would cost follows from the stored studies."""

import pytest
from support import pages

from ablations.analysis.studies import Study
from ablations.analysis.study_files import RESULTS, load_all
from ablations.findings.costs import core_seconds, cost_table, rate, wall_seconds


def stored() -> list[Study]:
    """The studies of all arms in the suite `classic` and on robots, one per environment, and the run on Breakout."""
    every = [study for study in load_all(RESULTS) if "leave-one-out" in study.name or "ALE" in study.env]
    robots = [study for study in load_all(RESULTS) if study.subject == "continuous"]
    return list({study.env: study for study in [*every, *robots]}.values())


def test_time_is_work_over_cores() -> None:
    assert core_seconds(agents=10, steps=3600, per_second=100) == 360
    assert wall_seconds(3200, machines=2) == 100  # of 16 cores each


def test_a_rate_counts_the_seconds_of_workers() -> None:
    (cartpole,) = (study for study in stored() if study.env == "CartPole-v1")
    assert rate(cartpole) == pytest.approx(cartpole.about["steps"] / cartpole.about["seconds"])
    assert 50_000 < rate(cartpole) < 200_000  # `ablations speed` measured 100,100 for ppo alone


def test_the_costs_on_the_page_are_those_of_the_stored_studies() -> None:
    assert pages.region("costs") == f"{cost_table(stored())}\n"  # else paste this
