"""A small difference says nothing where no arm learned, or where all arms are near the ceiling."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.studies import study

from ablations.analysis.compared import compared_arms, span_of
from ablations.analysis.effects import (
    AT_CEILING,
    HEADROOM,
    LEARNED,
    MARGIN,
    NOT_LEARNED,
    NOTHING,
    UNKNOWN,
    effects,
    out_of_room,
    verdict,
)
from ablations.analysis.scales import SCALES
from ablations.analysis.studies import SHARES
from ablations.design.designs import ladder
from ablations.figures.cells import told_apart
from ablations.findings.claims import AGREES, UNCLEAR, verdict_on
from ablations.report.compared_words import sentence
from ablations.report.tables import effects_text

SCALE = SCALES["CartPole-v1"]
UNIT = SCALE.ceiling - SCALE.random
LEVELS = {NOT_LEARNED: 0.02, NOTHING: 0.5, AT_CEILING: 0.97}
SMALL = {"difference": 0.0, "low": -0.01, "high": 0.01, "p_holm": 0.9, "without": 0.5, "with": 0.5}


@pytest.mark.parametrize(("said", "level"), LEVELS.items())
def test_every_table_figure_and_claim_refuses_a_small_effect_where_there_is_no_room(said: str, level: float) -> None:
    design = ladder(["baseline"])
    made = study(design, lambda _: 0)
    flat = made.runs.assign(**dict.fromkeys(SHARES, SCALE.random + level * UNIT + 0.1 * made.runs.seed))
    found = effects(replace(made, runs=flat), design)
    assert found.verdict.tolist() == [said]
    assert told_apart(found).small.tolist() == [said == NOTHING]
    assert told_apart(found).hatched.tolist() == [said != NOTHING]
    assert ("≈" in effects_text([found])) == (said == NOTHING)
    assert verdict_on(0, found.iloc[0].to_dict()) == (AGREES if said == NOTHING else UNCLEAR)


@pytest.mark.parametrize(("said", "level"), LEVELS.items())
def test_a_comparison_refuses_it_in_the_table_and_in_the_sentence(said: str, level: float) -> None:
    areas = SCALE.random + level * UNIT + np.arange(8.0)
    rows = [(arm, k, 0.1, x, x, np.nan) for arm in ("base", "other") for k, x in enumerate(areas)]
    runs = pd.DataFrame(rows, columns=["arm", "seed", "lr", "area", "late", "diverged"])
    row = compared_arms(runs, "base", margin=0.05 * UNIT, span=(SCALE.random, SCALE.ceiling)).iloc[1].to_dict()
    assert row["verdict"] == said
    words = sentence(row, alike=False)
    assert ("does practically nothing" in words) == (said == NOTHING)
    assert words.startswith("cannot tell here what other does: ") == (said != NOTHING)


def test_room_is_three_margins_above_random_or_two_below_the_best_for_either_arm() -> None:
    floor, ceiling = LEARNED * MARGIN, 1 - HEADROOM * MARGIN
    assert out_of_room(floor - 0.01, floor - 0.01, MARGIN) == NOT_LEARNED
    assert out_of_room(floor - 0.01, floor, MARGIN) == out_of_room(floor, -0.5, MARGIN) == ""
    assert out_of_room(ceiling + 0.01, ceiling + 0.01, MARGIN) == AT_CEILING
    assert out_of_room(ceiling, 1.0, MARGIN) == out_of_room(1.0, ceiling, MARGIN) == ""
    assert out_of_room(9, 9, 1, (7, np.nan)) == NOT_LEARNED != out_of_room(10, 9, 1, (7, np.nan))
    assert out_of_room(0, 0, 1, (np.nan, np.nan)) == ""


def test_what_is_detected_or_wide_is_told_as_ever_wherever_the_arms_are() -> None:
    for level in (0.0, 1.0):
        at = SMALL | {"without": level, "with": level}
        assert verdict(at | {"p_holm": 0.01, "difference": -0.01}, MARGIN) == "hurts"
        assert verdict(at | {"high": 0.2}, MARGIN) == verdict(at, None) == UNKNOWN
        assert verdict(at | {"low": np.nan, "high": np.nan}, MARGIN) == ""
    assert verdict(SMALL, MARGIN) == NOTHING


def test_without_a_scale_what_the_untrained_arms_earn_is_the_floor() -> None:
    rows = [("a", 0, np.nan), ("a", 0, 1.0), ("a", 0, 9.0), ("b", 0, 3.0)]
    floor, ceiling = span_of("nobody's", pd.DataFrame(rows, columns=["arm", "seed", "return"]))
    assert floor == 2
    assert np.isnan(ceiling)
    assert span_of("CartPole-v1", pd.DataFrame()) == (SCALE.random, SCALE.ceiling)
