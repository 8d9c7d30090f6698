"""The table of trials: what is said of predictions of no effect, of rates at an edge, and of each trick."""

from dataclasses import replace

import pandas as pd
import pytest
from support.one_trial import TRIAL, arm, outcome_of

from ablations.analysis import outcomes
from ablations.report import trials_section


def test_a_chosen_rate_at_the_edge_of_those_that_were_tried_is_marked_and_a_given_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[tuple[object, ...]] = []

    def at_edge(*arm: object) -> bool:
        tried.append(arm)
        return True

    monkeypatch.setattr(outcomes, "at_edge", at_edge)
    base = dict.fromkeys(range(6), 0.5)
    chosen, given = (outcome_of(replace(TRIAL, rate=rate), base, base) for rate in (None, 0.1))
    assert set(tried) == {(TRIAL.env, 400, "lanes=2 horizon=10", tricks, 0.1) for tricks in ("", "baseline")}
    assert [trials_section.arm(row, "with") for row in (chosen, given)] == ["0.5 (0.1, edge)", "0.5 (0.1)"]


NOISE = [0.0, 0.02, -0.02, 0.01, -0.01, 0.0]


@pytest.mark.parametrize(
    ("differences", "said", "outcome"),
    [
        (NOISE, "nothing (±0.05)", outcomes.AS_PREDICTED),
        ([0.02 + x / 10 for x in NOISE], "nothing (±0.05)", outcomes.AS_PREDICTED),  # there is something, but little
        ([10 * x for x in NOISE], "no detectable effect", outcomes.UNDETECTED),  # it could be more than the margin
        ([0.1 + x for x in NOISE], "up", outcomes.OTHER_WAY),
        ([-0.1 + x for x in NOISE], "down", outcomes.OTHER_WAY),
    ],
)
def test_no_effect_is_predicted_right_if_the_whole_interval_lies_within_the_margin(
    differences: list[float], said: str, outcome: str
) -> None:
    base = dict.fromkeys(range(6), 0.5)
    trial = replace(TRIAL, predicted=0)
    row = outcome_of(trial, base, {seed: x + differences[seed] for seed, x in base.items()})
    assert (row["outcome"], trials_section.seen(row)) == (outcome, said)
    assert outcomes.tallied(pd.DataFrame([row])).showing == 0
    assert "nothing (±0.05)" in trials_section.trials_text(pd.DataFrame([row]))
    wide = replace(trial, doses=(trial.doses[-1]._replace(best=100),))  # of which the same differences are nothing
    assert outcome_of(wide, base, {seed: x + differences[seed] for seed, x in base.items()})["small"]


def test_the_table_of_tricks_shows_an_effect_before_the_lack_of_one() -> None:
    base = dict.fromkeys(range(6), 0.5)
    alike, better = (
        outcomes.Outcome(trial, trial.doses[-1], arm(base), arm({seed: x + gain for seed, x in base.items()}))
        for trial, gain in ((replace(TRIAL, predicted=0), 0.0), (TRIAL, 1.0))
    )
    frame = outcomes.trial_table([alike, better])
    (row,) = trials_section.by_trick(frame).splitlines()[2:]
    assert "| up " in row
    assert "2 of 2" in row
    assert outcomes.tallied(frame) == (2, 2, 1, 0, 0, 1, 1)
