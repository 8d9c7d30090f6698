"""Studies of one folder: their order, how those of different seeds are joined, and what confirms them."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
from support.studies import study

from ablations.analysis.effects import effects
from ablations.analysis.joining import gathered, merged
from ablations.analysis.studies import Study
from ablations.analysis.study_files import load_all, save, save_again
from ablations.design.designs import ladder, leave_one_out
from ablations.design.flag_sets import flags


def test_studies_come_in_the_order_in_which_the_suites_name_their_environments_worlds_last(tmp_path: Path) -> None:
    envs = ["CartPole-v1", "Acrobot-v1", "Pendulum-v1", "Taxi-v4", "LunarLander-v3", "Hopper-v5", "A-v0"]
    for env in envs[::-1]:
        made = study(ladder(["baseline"]), lambda on: 0, env)
        save(replace(made, name=f"ladder_{env}"), tmp_path)
    save(trials("worlds_from10", 10), tmp_path)
    assert [found.env for found in load_all(tmp_path)] == [*envs, "CartPole-v1"]


def test_seeds_that_two_parts_of_a_study_share_are_counted_once() -> None:
    """The full set has as many seeds again, and those of today's part may be tomorrow's own."""
    whole = study(leave_one_out(["baseline", "entropy"]), lambda on: 0, seeds=8)
    full = whole.designs[0].arms[0].tricks
    first = whole.runs[(whole.runs.seed < 4) | ((whole.runs.tricks == flags(full)) & (whole.runs.seed >= 6))]
    one = replace(whole, runs=first, about=whole.about | {"seeds": [0, 4]})
    other = replace(whole, runs=whole.runs[whole.runs.seed >= 4], about=whole.about | {"seeds": [4, 8]})
    (both,) = merged([one, replace(other, name=f"{whole.name}_from4")])
    assert sorted(both.of(full).seed) == list(range(8))


def test_an_arm_at_two_rates_keeps_the_seeds_of_both() -> None:
    """In the worlds, a trial may repeat another's arm at a fixed rate."""
    first = study(ladder(["baseline"]), lambda on: 0, seeds=4)
    runs = pd.concat([first.runs, first.runs.assign(lr=0.1, tuned="fixed")], ignore_index=True)
    one = replace(first, name="worlds", designs=(), runs=runs)
    other = replace(one, name="worlds_from4", runs=runs.assign(seed=runs.seed + 4), about=one.about | {"seeds": [4, 8]})
    (both,) = merged([one, other])
    assert len(both.runs) == 2 * len(runs)


def trials(name: str, first: int, **facts: str | float) -> Study:
    """Trials on four seeds, in which an arm may have other facts, such as its rate."""
    made = study(ladder(["baseline"]), lambda on: 0, seeds=4)
    runs = made.runs.assign(seed=made.runs.seed + first, **facts)
    return replace(made, name=name, designs=(), runs=runs, about=made.about | {"seeds": [first, first + 4]})


def test_trials_of_different_tricks_on_the_same_seeds_are_one_study(tmp_path: Path) -> None:
    every, later = trials("worlds_from10", 10), trials("worlds_clip_from10", 10, numbers="epochs=20")
    for made in (later, every, trials("worlds_gae_from20", 20)):
        save(made, tmp_path)
    save_again(trials("worlds", 14), every, tmp_path)
    save_again(trials("worlds", 14, numbers="epochs=20"), later, tmp_path)
    one, other = load_all(tmp_path)
    assert (one.name, len(one.runs), other.name) == ("worlds_from10", 2 * len(every.runs), "worlds_gae_from20")
    assert one.again is not None
    assert (set(one.again.runs.numbers), other.again) == ({"", "epochs=20"}, None)


def test_of_runs_that_two_studies_share_those_count_whose_rate_was_chosen() -> None:
    given, chosen = trials("worlds_from10", 10, tuned="fixed"), trials("worlds_gae_from10", 10)
    (one,) = gathered([given, chosen])
    assert (len(one.runs), set(one.runs.tuned)) == (len(chosen.runs), {""})
    (one,) = gathered([given, trials("worlds_gae_from10", 10, tuned="tuned at 9 steps")])
    assert set(one.runs.tuned) == {"tuned at 9 steps"}
    assert one.runs.index.tolist() == [*range(len(given.runs))]


def test_trials_whose_rates_were_chosen_anew_stay_apart() -> None:
    old, new = trials("worlds_from10", 10), trials("worlds_gae_from10", 10, lr=0.3)
    assert gathered([old, new]) == [old, new]
    half = replace(new, runs=new.runs.assign(lr=new.runs.lr.where(new.runs.tricks.eq(""), 0.02)))
    assert gathered([old, half]) == [old, half]  # one of the two arms is enough
    given = trials("worlds_gae_from10", 10, lr=0.3, tuned="fixed")
    assert len(gathered([old, given])) == 1  # a given rate is another arm


def test_a_rate_that_was_chosen_anew_is_not_confirmed_by_runs_at_the_old_one(tmp_path: Path) -> None:
    first = study(ladder(["baseline"]), lambda on: 90 * ("baseline" in on), seeds=10)
    runs = first.runs.assign(seed=first.runs.seed + 10, lr=first.runs.lr * 3)
    save(first, tmp_path)
    save_again(replace(first, runs=runs, about=first.about | {"seeds": [10, 20]}), first, tmp_path)
    assert load_all(tmp_path)[0].again is None


def test_some_of_the_arms_tried_again_are_a_second_try(tmp_path: Path) -> None:
    first = study(ladder(["baseline", "entropy"]), lambda on: 0)
    runs = first.runs[first.runs.tricks.ne("")].assign(seed=first.runs.seed + 8)
    save(first, tmp_path)
    save_again(replace(first, runs=runs, about=first.about | {"seeds": [8, 16]}), first, tmp_path)
    again = load_all(tmp_path)[0].again
    assert again is not None
    assert set(again.runs.tricks) == {"baseline", "baseline entropy"}


def test_seeds_of_today_and_of_tomorrow_are_one_study() -> None:
    design = ladder(["baseline", "entropy"])
    whole = study(design, lambda on: len(on), seeds=8)
    first = replace(whole, runs=whole.runs[whole.runs.seed < 5], about=whole.about | {"seeds": [0, 5]})
    rest = replace(whole, runs=whole.runs[whole.runs.seed >= 5], about=whole.about | {"seeds": [5, 8]})
    rest = replace(rest, name=f"{whole.name}_from5")
    (both,) = merged([rest, first])
    assert both.about["seeds"] == [0, 8]
    assert (both.about["steps"], both.about["seconds"]) == (2.0, 2.0)
    pd.testing.assert_frame_equal(effects(both, design), effects(whole, design))
    pd.testing.assert_frame_equal(both.runs, pd.concat([first.runs, rest.runs], ignore_index=True))
    gap = replace(rest, about=rest.about | {"seeds": [6, 8]})
    elsewhere = replace(rest, runs=rest.runs.assign(lr=rest.runs.lr.where(rest.runs.tricks.eq(""), 0.1)))  # one arm
    stepped = replace(rest, about=rest.about | {"made with": {"backend": ["gymnasium"]}})
    for other in (gap, elsewhere, stepped):
        assert merged([first, other]) == [first, other]


def test_a_joined_study_says_how_both_parts_were_made() -> None:
    first, rest = trials("worlds", 0), trials("worlds_from4", 4)
    made = {"torch": ["2.1", "2"], "numpy": ["2"]}
    (both,) = merged([first, replace(rest, about=rest.about | {"command": "y", "made with": made})])
    assert both.about["command"] == "x; y"
    assert both.about["made with"] == {"torch": ["2", "2.1"], "numpy": ["2"]}
    other = replace(first, about=first.about | {"made with": {"gpu": ["H"]}})
    assert merged([other, rest])[0].about["made with"] == {"gpu": ["H"], "torch": ["2"]}


def test_studies_that_stay_apart_come_in_the_order_of_their_first_seeds() -> None:
    short, long = trials("worlds_gae_from2", 2), trials("worlds", 0)
    long = replace(long, about=long.about | {"seeds": [0, 9]})
    assert merged([short, long]) == [long, short]


def test_seeds_that_have_joined_a_study_confirm_nothing_in_it(tmp_path: Path) -> None:
    design = ladder(["baseline"])
    first = study(design, lambda on: 90 * ("baseline" in on), seeds=10)
    tried = replace(first, runs=first.runs.assign(seed=first.runs.seed + 10), about=first.about | {"seeds": [10, 20]})
    save(first, tmp_path)
    save_again(tried, first, tmp_path)
    assert effects(load_all(tmp_path)[0], design).confirmed.tolist() == [1]
    save(replace(tried, name=f"{first.name}_from10"), tmp_path)  # later, the same seeds are reported
    (joined,) = load_all(tmp_path)
    assert joined.seeds == 20
    assert joined.again is None
