"""The ten sentences: said of what is stored, computed from it, and silent about what is not."""

from dataclasses import replace

import pandas as pd
from support.studies import study

from ablations.analysis.studies import Study
from ablations.design.designs import ladder, leave_one_out
from ablations.findings.our_designs import around_continuous, beyond, beyond_normed
from ablations.findings.take_home import _first_ten, take_home

NAMES, HOPPER, NEW = ["baseline", "clip", "entropy"], "Hopper-v5", "New-v0"
ENVS = ("CartPole-v1", "Acrobot-v1", "Pendulum-v1")


def said(*studies: Study) -> list[str]:
    return take_home(studies, pd.DataFrame(), [], [])


def test_the_trick_that_is_missed_most_is_named_for_each_environment_of_which_no_runs_are_missing() -> None:
    helping = study(leave_one_out(NAMES), lambda on: 90 * ("clip" in on) + 60 * ("entropy" in on))
    nothing = study(leave_one_out(NAMES), lambda on: 0, "Acrobot-v1")
    assert said() == []
    assert said(replace(helping, runs=helping.runs[helping.runs.tricks != helping.runs.tricks.iloc[-1]])) == []
    assert said(helping, nothing) == [
        "What is missed most when it is taken out of the full set, together with what needs it: on "
        "CartPole-v1 `clip` (+0.19, not tried again); on Acrobot-v1 none for certain."
    ]
    (both,) = said(helping, study(leave_one_out(NAMES), lambda on: 60 * ("entropy" in on), "Acrobot-v1"))
    assert "with what needs it, differs by task: on CartPole-v1 `clip`" in both


def test_beyond_the_ladder_tasks_are_counted() -> None:
    def trunk(env: str, effect: float) -> Study:
        return study(beyond(["shared_trunk", "ppg"]), lambda on: effect * ("shared_trunk" in on), env)

    (sentence,) = said(trunk("CartPole-v1", 60), trunk("Acrobot-v1", -60), trunk("Pendulum-v1", 0))
    assert sentence.endswith("of 3 tasks (8 seeds): `shared_trunk` in 1 and 1, `ppg` in none and none.")
    many = study(beyond(["ppg"]), lambda on: 0, "Taxi-v4", seeds=12)  # never in one tally with fewer
    (sentence,) = said(trunk("CartPole-v1", 60), many)
    assert "of 1 task (12 seeds): `ppg` in none and none; of 1 task (8 seeds): `shared_trunk` in 1 and none" in sentence
    normed, plain = study(beyond_normed(["shared_trunk"]), lambda on: 60 * ("shared_trunk" in on)), trunk(ENVS[0], 0)
    runs = pd.concat([plain.runs, normed.runs]).drop_duplicates(["tricks", "seed"])
    (sentence, *_) = said(replace(normed, designs=(*plain.designs, *normed.designs), runs=runs))
    assert sentence.endswith("; with `return_norm` as well, in 1 of 1: on CartPole-v1 `shared_trunk` (+0.13).")


def test_the_first_ten_of_thirty_seeds_are_asked_what_they_would_have_detected() -> None:
    made = study(ladder(NAMES), lambda on: 150 * ("clip" in on) + 150 * ("baseline" in on), NEW, seeds=30)
    lucky = made.runs.tricks.str.contains("clip") & (made.runs.seed < 10)
    made.runs.loc[lucky, [c for c in made.runs.columns if c == "late" or c.endswith("%")]] -= 150  # not in these
    assert said(made) == ["Of 2 effects that 30 seeds detect on New-v0, the first ten of these seeds detect 1."]
    assert said(study(ladder(NAMES), lambda on: 90 * ("clip" in on), NEW, seeds=10)) == []
    shared = made.runs[made.runs.tricks.eq("reuse") & (made.runs.seed < 10)]
    more = replace(made, runs=pd.concat([made.runs, shared.assign(seed=shared.seed + 60)]))
    assert _first_ten(more).runs.tricks.eq("reuse").sum() == 20  # ten seeds would have had ten more of a shared arm


def test_of_a_robot_all_verdicts_are_told_and_held_against_what_is_published() -> None:
    effect = {"gae": 400, "recompute": -300, "clip": 250, "huber": 120}
    made = study(around_continuous([]), lambda on: sum(effect.get(name, 0) for name in on), HOPPER)
    assert "(8 seeds, 100,000 steps), " in said(made)[0]
    robot, published = said(replace(made, runs=made.runs.assign(tuned="fixed")))
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
