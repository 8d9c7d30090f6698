"""From finished jobs to a study; studies of one folder: their order, how they are joined, and what confirms them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.jobs import TINY
from support.studies import study

from ablations.analysis.effects import effects
from ablations.analysis.joining import gathered, merged
from ablations.analysis.studies import SHARES, Done, Study, about_runs, gather, study_of
from ablations.analysis.study_files import load_all, save, save_again
from ablations.design.designs import DESIGNS, ladder, leave_one_out
from ablations.design.flag_sets import flags
from ablations.training.jobs import Job
from ablations.training.plan import Plan
from ablations.training.scores import POINTS, Scored
from ablations.training.store import Store
from tricks import InputError
from tricks.ladder import REINFORCE, switched
from tricks.runs.provenance import VERSIONS

ONE = ladder(["baseline"])


def done(seeds: tuple[int, ...], diverged: Mapping[int, int], device: str = "cpu", **made: str | None) -> Done:
    """A finished job: seed k has returns of k, and 10 k at the end."""
    values = np.array(seeds, dtype=float)
    config = replace(TINY, seeds=seeds, lr=tuple(0.01 * (seed + 1) for seed in seeds), device=device)
    known, grid = dict.fromkeys(VERSIONS) | made, np.repeat(values[:, None], POINTS, axis=1)
    return Done(Job(config, REINFORCE), "x", Scored(seeds, grid, 10 * values, diverged, 0.63, 200, known))


def test_each_seed_has_its_own_facts_and_what_is_said_of_runs_is_that_of_all_their_jobs() -> None:
    runs = gather([done((3, 4, 5), {4: 150}), done((6,), {})], {4, 5, 6})
    assert (runs.seed.tolist(), runs.lr.tolist()) == ([4, 5, 6], pytest.approx([0.05, 0.06, 0.07]))
    assert (runs.diverged.fillna(-1).tolist(), runs.late.tolist()) == ([150, -1, -1], [40, 50, 60])
    assert runs[SHARES].to_numpy().tolist() == [[seed] * POINTS for seed in (4, 5, 6)]
    with pytest.raises(InputError, match="there are no results"):
        gather([], {4})
    jobs = [done((0, 1), {}, torch="2", gpu="H"), done((2,), {}, device="cuda:1", torch="1", commit="c")]
    about = about_runs("x", jobs, (5, 3, 4))
    assert (about["command"], about["seconds"], about["steps"], about["seeds"]) == ("x", 1.3, 400, [3, 6])
    nothing: dict[str, list[str]] = {key: [] for key in VERSIONS}
    versions = {"torch": ["1", "2"], "commit": ["c"], "backend": ["auto"], "device": ["cpu", "cuda"], "gpu": ["H"]}
    assert about["made with"] == nothing | versions
    assert "gpu" not in about_runs("x", [done((0,), {})], (0,))["made with"]


def test_a_study_of_a_plan_is_of_what_is_finished_and_later_seeds_do_not_make_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_out = ("Atari: not installed",)
    plan = Plan(replace(TINY, seeds=1), (ONE,), (3, 4), fixed=True, all_tricks=True, left_out=left_out)
    first = next(iter(plan.jobs))
    monkeypatch.setattr(Store, "scored", lambda _, job: done((3, 4), {}).result if job == first else None)
    found = study_of(plan, Store(tmp_path), "run")
    assert (found.name, found.designs, found.about["command"]) == (plan.name, (ONE,), "run")
    assert (found.about["left out"], found.about["seeds"]) == (left_out, [3, 5])
    assert found.runs[["tricks", "seed", "tuned"]].to_numpy().tolist() == [["", 3, "fixed"], ["", 4, "fixed"]]
    assert found.missing(ONE) == ["+ baseline"]
    made = study(ONE, lambda on: 0)
    assert made.subject == replace(made, designs=()).subject == "ladder"
    assert replace(made, designs=(ONE, DESIGNS["beyond"](["huber", "dual_clip"]))).subject == "beyond"
    late = replace(made, runs=made.runs.assign(seed=made.runs.seed + made.runs.tricks.eq("baseline")))
    assert (made.missing(ONE), made.is_whole) == ([], True)
    assert (late.missing(ONE), late.is_whole) == (["+ baseline"], False)
    assert late.of(switched(["baseline"])).seed.tolist() == [*range(1, 9)]


def trials(name: str, first: int, **facts: str | float) -> Study:
    """Trials on four seeds, in which an arm may have other facts, such as its rate."""
    made = study(ONE, lambda on: 0, seeds=4)
    return part(replace(made, name=name, designs=()), lambda seed: seed >= 0, [first, first + 4], by=first, **facts)


def part(whole: Study, keep: Callable[[Any], Any], seeds: list[int], by: int = 0, **facts: str | float) -> Study:
    """The runs of a study on these seeds, moved `by`; one that does not begin with 0 is named for its first."""
    runs = whole.runs[keep(whole.runs.seed)]
    return replace(whole, runs=runs.assign(seed=runs.seed + by, **facts), about=whole.about | {"seeds": seeds})


def tried_again(first: Study, runs: pd.DataFrame, folder: Path) -> Study:
    save(first, folder)
    last = int(runs.seed.max()) + 1
    save_again(replace(first, runs=runs, about=first.about | {"seeds": [first.seeds, last]}), first, folder)
    return load_all(folder)[0]


def test_studies_come_in_the_order_of_the_suites_environments_worlds_last_or_of_their_seeds(tmp_path: Path) -> None:
    envs = ["CartPole-v1", "Acrobot-v1", "Pendulum-v1", "Taxi-v4", "LunarLander-v3", "Hopper-v5", "A-v0"]
    for env in envs[::-1]:
        save(replace(study(ONE, lambda on: 0, env), name=f"ladder_{env}"), tmp_path)
    save(trials("worlds_from10", 10), tmp_path)
    assert [found.env for found in load_all(tmp_path)] == [*envs, "CartPole-v1"]
    short, long = trials("worlds_gae_from2", 2), trials("worlds", 0)
    long = replace(long, about=long.about | {"seeds": [0, 9]})
    assert merged([short, long]) == [long, short]


def test_seeds_of_today_and_of_tomorrow_are_one_study() -> None:
    whole = study(design := ladder(["baseline", "entropy"]), lambda on: len(on), seeds=8)
    first, rest = part(whole, lambda seed: seed < 5, [0, 5]), part(whole, lambda seed: seed >= 5, [5, 8])
    rest = replace(rest, name=f"{whole.name}_from5")
    (both,) = merged([rest, first])
    assert (both.about["seeds"], both.about["steps"], both.about["seconds"]) == ([0, 8], 2.0, 2.0)
    pd.testing.assert_frame_equal(effects(both, design), effects(whole, design))
    pd.testing.assert_frame_equal(both.runs, pd.concat([first.runs, rest.runs], ignore_index=True))
    gap = replace(rest, about=rest.about | {"seeds": [6, 8]})
    elsewhere = replace(rest, runs=rest.runs.assign(lr=rest.runs.lr.where(rest.runs.tricks.eq(""), 0.1)))  # one arm
    stepped = replace(rest, about=rest.about | {"made with": {"backend": ["gymnasium"]}})
    for other in (gap, elsewhere, stepped):
        assert merged([first, other]) == [first, other]


def test_seeds_that_two_parts_of_a_study_share_are_counted_once() -> None:
    """The full set has as many seeds again, and those of today's part may be tomorrow's own."""
    whole = study(leave_one_out(["baseline", "entropy"]), lambda on: 0, seeds=8)
    full = whole.designs[0].arms[0].tricks
    first = whole.runs[(whole.runs.seed < 4) | ((whole.runs.tricks == flags(full)) & (whole.runs.seed >= 6))]
    one = replace(whole, runs=first, about=whole.about | {"seeds": [0, 4]})
    other = replace(part(whole, lambda seed: seed >= 4, [4, 8]), name=f"{whole.name}_from4")
    (both,) = merged([one, other])
    assert sorted(both.of(full).seed) == list(range(8))


def test_an_arm_at_two_rates_keeps_the_seeds_of_both() -> None:
    """In the worlds, a trial may repeat another's arm at a fixed rate."""
    first = trials("worlds", 0)
    runs = pd.concat([first.runs, first.runs.assign(lr=0.1, tuned="fixed")], ignore_index=True)
    other = replace(trials("worlds_from4", 4), runs=runs.assign(seed=runs.seed + 4))
    (both,) = merged([replace(first, runs=runs), other])
    assert len(both.runs) == 2 * len(runs)


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


def test_of_runs_that_two_studies_share_those_count_whose_rate_was_chosen_unless_both_were() -> None:
    given, chosen = trials("worlds_from10", 10, tuned="fixed"), trials("worlds_gae_from10", 10)
    (one,) = gathered([given, chosen])
    assert (len(one.runs), set(one.runs.tuned)) == (len(chosen.runs), {""})
    (one,) = gathered([given, trials("worlds_gae_from10", 10, tuned="tuned at 9 steps")])
    assert (set(one.runs.tuned), one.runs.index.tolist()) == ({"tuned at 9 steps"}, [*range(len(given.runs))])
    old, new = trials("worlds_from10", 10), trials("worlds_gae_from10", 10, lr=0.3)
    assert gathered([old, new]) == [old, new]
    half = replace(new, runs=new.runs.assign(lr=new.runs.lr.where(new.runs.tricks.eq(""), 0.02)))
    assert gathered([old, half]) == [old, half]  # one of the two arms is enough
    given = trials("worlds_gae_from10", 10, lr=0.3, tuned="fixed")
    assert len(gathered([old, given])) == 1  # a given rate is another arm


def test_a_joined_study_says_how_both_parts_were_made() -> None:
    first, rest = trials("worlds", 0), trials("worlds_from4", 4)
    made = {"torch": ["2.1", "2"], "numpy": ["2"]}
    (both,) = merged([first, replace(rest, about=rest.about | {"command": "y", "made with": made})])
    assert both.about["command"] == "x; y"
    assert both.about["made with"] == {"torch": ["2", "2.1"], "numpy": ["2"]}
    other = replace(first, about=first.about | {"made with": {"gpu": ["H"]}})
    assert merged([other, rest])[0].about["made with"] == {"gpu": ["H"], "torch": ["2"]}


def test_a_second_try_is_of_some_arms_at_the_same_rates_on_seeds_that_have_not_joined_the_first(tmp_path: Path) -> None:
    first = study(ONE, lambda on: 90 * ("baseline" in on), seeds=10)
    runs = first.runs.assign(seed=first.runs.seed + 10)
    assert tried_again(first, runs.assign(lr=first.runs.lr * 3), tmp_path).again is None  # a rate chosen anew
    some = tried_again(first, runs[runs.tricks.ne("")], tmp_path).again
    assert some is not None
    assert set(some.runs.tricks) == {"baseline"}
    assert effects(tried_again(first, runs, tmp_path), ONE).confirmed.tolist() == [1]
    later = replace(first, name=f"{first.name}_from10", runs=runs, about=first.about | {"seeds": [10, 20]})
    save(later, tmp_path)  # the same seeds are reported
    (joined,) = load_all(tmp_path)
    assert (joined.seeds, joined.again) == (20, None)
