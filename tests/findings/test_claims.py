"""What others found, held against effects with known verdicts; and what is said of a random design, of costs."""

from typing import Any

import pandas as pd
import pytest
from support import pages

from ablations.analysis.effects import HELPS, HURTS, NOTHING, UNKNOWN
from ablations.analysis.study_files import RESULTS, load_all
from ablations.findings import claims
from ablations.findings.claims import AGREES, DESIGN, DISAGREES, HOPPER, UNCLEAR, claims_text, verdict_on
from ablations.findings.costs import core_seconds, cost_table, rate, wall_seconds
from ablations.findings.stored_choices import takeaways
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
    tiny = effect("clip", HOPPER, 0.02, HELPS) | {"low": 0.01, "high": 0.03}  # detected, and certainly small
    assert verdict_on(says, tiny) == (DISAGREES if says == -1 else AGREES)


def test_the_table_has_a_row_for_every_claim_of_which_there_is_an_effect_and_counts_them() -> None:
    effects = [effect("return_norm", env, 0.2, HELPS) for env in (HOPPER, claims.WALKER, claims.CHEETAH)]
    effects += [effect("advantage_norm", HOPPER, 0.0, NOTHING), effect("dual_clip", HOPPER, 0.5, HELPS)]
    text = claims_text(pd.DataFrame(effects))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "`" in line]
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("`return_norm`", HOPPER, AGREES),
        ("`return_norm`", claims.CHEETAH, AGREES),
        ("`return_norm`", claims.WALKER, DISAGREES),  # where it is said to hurt
        ("`advantage_norm`", HOPPER, AGREES),
    ]
    assert text.endswith("Of 4 statements, agrees: 3, disagrees: 1, can't tell: 0.")
    assert claims_text(pd.DataFrame([effect("dual_clip", HOPPER, 0.5, HELPS)])) == ""
    both = [effect("huber", HOPPER, -0.2, HURTS) | {"design": design} for design in (DESIGN, "leave-one-out")]
    assert claims_text(pd.DataFrame(both)).endswith("Of 1 statements, agrees: 1, disagrees: 0, can't tell: 0.")


def test_no_two_claims_of_a_study_are_about_the_same_trick_and_robot() -> None:
    said = [(claim.trick, env, claim.source.split(",")[0]) for claim in claims.CLAIMS for env in claim.envs]
    assert len(set(said)) == len(said)
    assert all(claim.trick in NEEDS for claim in claims.CLAIMS)


def level(choice: str, name: str, median: float, low: float = 0.1, chance: float = 0.001) -> dict[str, object]:
    """One level of a choice, whose quantiles are known to ±5."""
    spans = {f"{q}{end}": median + by for q in ("q0.5", "q0.95") for end, by in (("", 0), ("_low", -5), ("_high", 5))}
    return {"choice": choice, "level": name, "explained": low + 0.05, "explained_low": low, "chance": chance, **spans}


def test_flags_are_named_only_if_their_intervals_are_apart_and_numbers_with_their_ends() -> None:
    rows = [level("clip", "off", 10), level("clip", "on", 21), level("gae", "off", 30), level("gae", "on", 19)]
    rows += [level("entropy", "off", 10, -0.01), level("entropy", "on", 19, -0.01)]  # these intervals touch
    rows += [level("lanes", "8", 10, 0.001, 0.03), level("lanes", "32", 12, 0.001, 0.03)]  # as good as shuffled
    rows += [level("epochs", "1", 10), level("epochs", "4", 30), level("epochs", "10", 20)]
    agents = pd.DataFrame({"score": [float(x) for x in range(101)], "env": "CartPole-v1"})
    first, second, third, fourth, fifth = takeaways(pd.DataFrame(rows), agents)
    assert first == "Half of 101 random configurations on CartPole-v1 score below 50, one in twenty above 95."
    assert "`entropy`" not in second
    assert third == "Medians on CartPole-v1 at the best and at the worst level: `epochs` 30 at 4, 10 at 1."
    assert "the median is higher with `clip`, and lower with `gae`;" in fourth
    assert fifth.endswith("anything: `lanes`, `entropy`.")


def test_what_a_large_study_would_cost_follows_from_the_stored_studies() -> None:
    assert core_seconds(agents=10, steps=3600, per_second=100) == 360
    assert wall_seconds(3200, machines=2) == 100  # of 16 cores each
    every = load_all(RESULTS)  # of all arms in the suite `classic` and on robots, and the run on Breakout, one per task
    some = [study for study in every if "leave-one-out" in study.name or "ALE" in study.env]
    some += [study for study in every if study.subject == "continuous"]
    stored = {study.env: study for study in some}
    cartpole = stored["CartPole-v1"]
    assert rate(cartpole) == pytest.approx(cartpole.about["steps"] / cartpole.about["seconds"])  # of all workers
    assert 50_000 < rate(cartpole) < 200_000  # `ablations speed` measured 100,100 for ppo alone
    assert pages.region("costs") == f"{cost_table(list(stored.values()))}\n"  # else paste this
