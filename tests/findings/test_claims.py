"""What others found, held against effects with known verdicts; what is said of a random design, of costs, and to take
home: computed from what is stored, and silent about what is not."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from support import pages
from support.studies import study

from ablations.analysis.effects import HELPS, HURTS, NOTHING, UNKNOWN
from ablations.analysis.studies import Study
from ablations.analysis.study_files import RESULTS, load_all
from ablations.design.designs import ladder, leave_one_out
from ablations.findings import claims
from ablations.findings.claims import AGREES, DESIGN, DISAGREES, HOPPER, UNCLEAR, claims_text, verdict_on
from ablations.findings.costs import core_seconds, cost_table, rate, wall_seconds
from ablations.findings.our_designs import around_continuous, beyond, beyond_normed
from ablations.findings.stored_choices import takeaways
from ablations.findings.take_home import first_ten, take_home
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
    pages.check("costs", f"{cost_table(list(stored.values()))}\n")


NAMES, ROBOT, NEW = ["baseline", "clip", "entropy"], "Hopper-v5", "New-v0"
ENVS = ("CartPole-v1", "Acrobot-v1", "Pendulum-v1")


def home(*studies: Study) -> list[str]:
    return take_home(studies, pd.DataFrame(), [], [])


def test_the_trick_that_is_missed_most_is_named_for_each_environment_of_which_no_runs_are_missing() -> None:
    helping = study(leave_one_out(NAMES), lambda on: 90 * ("clip" in on) + 60 * ("entropy" in on))
    nothing = study(leave_one_out(NAMES), lambda on: 0, "Acrobot-v1")
    assert home() == []
    assert home(replace(helping, runs=helping.runs[helping.runs.tricks != helping.runs.tricks.iloc[-1]])) == []
    assert home(helping, nothing) == [
        "What is missed most when it is taken out of the full set, together with what needs it: on "
        "CartPole-v1 `clip` (+0.19, not tried again); on Acrobot-v1 none for certain."
    ]
    (both,) = home(helping, study(leave_one_out(NAMES), lambda on: 60 * ("entropy" in on), "Acrobot-v1"))
    assert "with what needs it, differs by task: on CartPole-v1 `clip`" in both


def test_beyond_the_ladder_tasks_are_counted() -> None:
    def trunk(env: str, effect: float) -> Study:
        return study(beyond(["shared_trunk", "ppg"]), lambda on: effect * ("shared_trunk" in on), env)

    (sentence,) = home(trunk("CartPole-v1", 60), trunk("Acrobot-v1", -60), trunk("Pendulum-v1", 0))
    assert sentence.endswith("of 3 tasks (8 seeds): `shared_trunk` in 1 and 1, `ppg` in none and none.")
    many = study(beyond(["ppg"]), lambda on: 0, "Taxi-v4", seeds=12)  # never in one tally with fewer
    (sentence,) = home(trunk("CartPole-v1", 60), many)
    assert "of 1 task (12 seeds): `ppg` in none and none; of 1 task (8 seeds): `shared_trunk` in 1 and none" in sentence
    normed, plain = study(beyond_normed(["shared_trunk"]), lambda on: 60 * ("shared_trunk" in on)), trunk(ENVS[0], 0)
    runs = pd.concat([plain.runs, normed.runs]).drop_duplicates(["tricks", "seed"])
    (sentence, *_) = home(replace(normed, designs=(*plain.designs, *normed.designs), runs=runs))
    assert sentence.endswith("; with `return_norm` as well, in 1 of 1: on CartPole-v1 `shared_trunk` (+0.13).")


def test_the_first_ten_of_thirty_seeds_are_asked_what_they_would_have_detected() -> None:
    made = study(ladder(NAMES), lambda on: 150 * ("clip" in on) + 150 * ("baseline" in on), NEW, seeds=30)
    lucky = made.runs.tricks.str.contains("clip") & (made.runs.seed < 10)
    made.runs.loc[lucky, [c for c in made.runs.columns if c == "late" or c.endswith("%")]] -= 150  # not in these
    assert home(made) == ["Of 2 effects that 30 seeds detect on New-v0, the first ten of these seeds detect 1."]
    assert home(study(ladder(NAMES), lambda on: 90 * ("clip" in on), NEW, seeds=10)) == []
    shared = made.runs[made.runs.tricks.eq("reuse") & (made.runs.seed < 10)]
    more = replace(made, runs=pd.concat([made.runs, shared.assign(seed=shared.seed + 60)]))
    assert first_ten(more).runs.tricks.eq("reuse").sum() == 20  # ten seeds would have had ten more of a shared arm


def test_of_a_robot_all_verdicts_are_told_and_held_against_what_is_published() -> None:
    effect = {"gae": 400, "recompute": -300, "clip": 250, "huber": 120}
    made = study(around_continuous([]), lambda on: sum(effect.get(name, 0) for name in on), ROBOT)
    assert "(8 seeds, 100,000 steps), " in home(made)[0]
    robot, published = home(replace(made, runs=made.runs.assign(tuned="fixed")))
    start = "In or on top of `continuous` on Hopper-v5 (8 seeds, 100,000 steps, all at its learning rate), "
    assert robot.startswith(start)
    helping, rest = robot.split(" help, ")
    assert "`gae` (+0.16)" in helping
    assert "`recompute` (-0.12) hurt, " in rest
    assert "`value_clip`" in rest.split(" hurt, ")[1].split(" do practically nothing")[0]
    assert published.startswith("Of 12 published statements about tricks on Hopper-v5, our results support ")
    assert "`recompute` on Hopper-v5" in published  # which is said to help
    assert "`huber` on Hopper-v5" in published  # which is said to hurt


def test_a_number_travels_if_one_value_is_nearly_as_good_everywhere() -> None:
    def sweep(env: str, name: str, *scores: float) -> pd.DataFrame:
        rows = [{name: k, "lr": 0.01, "seed": 0, "score": score} for k, score in enumerate(scores)]
        return pd.DataFrame(rows).assign(env=env, rung="ppo")

    rest = [(-400, -60), (-600, -150)]
    one, two = (
        [sweep(env, name, *scores) for env, scores in zip(ENVS, [first, *rest], strict=True)]
        for name, first in (("epochs", (500, 499)), ("gamma", (500, 40)))
    )
    (sentence,) = take_home([], pd.DataFrame(), [*one, *two, sweep("CartPole-v1", "lanes", 1, 2)], [])
    assert sentence == (
        "Of 2 numbers, 1 has a value that is nearly as good as the best on each of CartPole-v1, Acrobot-v1, "
        "Pendulum-v1, with the learning rate chosen anew for each value: `epochs` (1), and for the others no value is: "
        "`gamma`."
    )
    (all_travel,) = take_home([], pd.DataFrame(), one, [])
    assert all_travel.endswith("chosen anew for each value: `epochs` (1).")
    (none_travels,) = take_home([], pd.DataFrame(), two, [])
    assert none_travels.startswith("None of these numbers has a value that is nearly as good as the best on each of ")
    assert none_travels.endswith("chosen anew for each value: `gamma`.")
    (four_envs,) = take_home([], pd.DataFrame(), [*two, *one, sweep("Taxi-v4", "epochs", 1, 2)], [])
    assert "on each of CartPole-v1, Acrobot-v1, Pendulum-v1, Taxi-v4, with" in four_envs
    assert "gamma" not in four_envs
