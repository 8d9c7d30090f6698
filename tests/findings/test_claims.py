"""What others found, held against effects with known verdicts."""

from typing import Any

import pandas as pd
import pytest

from ablations.analysis.effects import HELPS, HURTS, NOTHING, UNKNOWN
from ablations.findings.claims import (
    AGREES,
    CHEETAH,
    CLAIMS,
    DESIGN,
    DISAGREES,
    HOPPER,
    UNCLEAR,
    WALKER,
    claims_text,
    verdict_on,
)
from tricks.ladder import NEEDS


def effect(trick: str, env: str, difference: float, verdict: str) -> dict[str, Any]:
    detected = {HELPS: 1, HURTS: -1}.get(verdict, 0)
    span = {"difference": difference, "low": difference - 0.02, "high": difference + 0.02}
    return {"design": DESIGN, "trick": trick, "env": env, "detected": detected, "verdict": verdict, **span}


@pytest.mark.parametrize(
    ("says", "verdict", "expected"),
    [
        (1, HELPS, AGREES),
        (1, HURTS, DISAGREES),
        (1, NOTHING, DISAGREES),
        (0, NOTHING, AGREES),
        (0, HURTS, DISAGREES),
        (-1, HURTS, AGREES),
        *((says, UNKNOWN, UNCLEAR) for says in (-1, 0, 1)),
    ],
)
def test_an_effect_agrees_disagrees_or_cannot_tell(says: int, verdict: str, expected: str) -> None:
    size = {HELPS: 0.2, HURTS: -0.2, UNKNOWN: 0.04}.get(verdict, 0.0)
    assert verdict_on(says, effect("clip", HOPPER, size, verdict)) == expected


def test_an_effect_that_is_detected_and_certainly_small_agrees_with_its_sign_and_with_does_little() -> None:
    tiny = effect("clip", HOPPER, 0.02, HELPS) | {"low": 0.01, "high": 0.03}
    assert [verdict_on(says, tiny) for says in (1, 0, -1)] == [AGREES, AGREES, DISAGREES]


def test_an_effect_in_another_design_is_no_second_statement() -> None:
    both = [effect("huber", HOPPER, -0.2, HURTS) | {"design": design} for design in (DESIGN, "leave-one-out")]
    assert claims_text(pd.DataFrame(both)).endswith("Of 1 statements, agrees: 1, disagrees: 0, can't tell: 0.")


def test_the_table_has_a_row_for_every_claim_of_which_there_is_an_effect_and_counts_them() -> None:
    effects = [effect("return_norm", env, 0.2, HELPS) for env in (HOPPER, WALKER, CHEETAH)]
    effects += [effect("advantage_norm", HOPPER, 0.0, NOTHING), effect("dual_clip", HOPPER, 0.5, HELPS)]
    text = claims_text(pd.DataFrame(effects))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "`" in line]
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("`return_norm`", HOPPER, AGREES),
        ("`return_norm`", CHEETAH, AGREES),
        ("`return_norm`", WALKER, DISAGREES),  # where it is said to hurt
        ("`advantage_norm`", HOPPER, AGREES),
    ]
    assert text.endswith("Of 4 statements, agrees: 3, disagrees: 1, can't tell: 0.")
    assert claims_text(pd.DataFrame([effect("dual_clip", HOPPER, 0.5, HELPS)])) == ""


def test_no_two_claims_of_a_study_are_about_the_same_trick_and_robot() -> None:
    said = [(claim.trick, env, claim.source.split(",")[0]) for claim in CLAIMS for env in claim.envs]
    assert len(set(said)) == len(said)
    assert all(claim.trick in NEEDS for claim in CLAIMS)
