"""From finished jobs to a study: each seed's facts, its scores, and what they were made with, by hand."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.jobs import TINY
from support.studies import study

from ablations.analysis.studies import SHARES, Done, about_runs, gather, study_of
from ablations.design.designs import DESIGNS, ladder
from ablations.training.jobs import Job
from ablations.training.plan import Plan
from ablations.training.scores import POINTS, Scored
from ablations.training.store import Store
from tricks import InputError
from tricks.ladder import REINFORCE, switched
from tricks.runs.provenance import VERSIONS


def done(seeds: tuple[int, ...], diverged: Mapping[int, int], device: str = "cpu", **made: str | None) -> Done:
    """A finished job: seed k has returns of k, and 10 k at the end."""
    values = np.array(seeds, dtype=float)
    config = replace(TINY, seeds=seeds, lr=tuple(0.01 * (seed + 1) for seed in seeds), device=device)
    known = dict.fromkeys(VERSIONS) | made
    grid = np.repeat(values[:, None], POINTS, axis=1)
    return Done(Job(config, REINFORCE), "x", Scored(seeds, grid, 10 * values, diverged, 0.63, 200, known))


def test_each_seed_has_its_own_rate_and_returns_and_the_step_at_which_it_diverged() -> None:
    runs = gather([done((3, 4, 5), {4: 150}), done((6,), {})], {4, 5, 6})
    assert runs.seed.tolist() == [4, 5, 6]
    assert runs.lr.tolist() == pytest.approx([0.05, 0.06, 0.07])
    assert runs.diverged.fillna(-1).tolist() == [150, -1, -1]
    assert runs.late.tolist() == [40, 50, 60]
    assert runs[SHARES].to_numpy().tolist() == [[seed] * POINTS for seed in (4, 5, 6)]
    with pytest.raises(InputError, match="there are no results"):
        gather([], {4})


def test_what_is_said_of_runs_is_that_of_all_their_jobs() -> None:
    jobs = [done((0, 1), {}, torch="2", gpu="H"), done((2,), {}, device="cuda:1", torch="1", commit="c")]
    about = about_runs("x", jobs, (5, 3, 4))
    assert (about["command"], about["seconds"], about["steps"], about["seeds"]) == ("x", 1.3, 400, [3, 6])
    nothing: dict[str, list[str]] = {key: [] for key in VERSIONS}
    versions = {"torch": ["1", "2"], "commit": ["c"], "backend": ["auto"], "device": ["cpu", "cuda"], "gpu": ["H"]}
    assert about["made with"] == nothing | versions
    assert "gpu" not in about_runs("x", [done((0,), {})], (0,))["made with"]


def test_a_study_of_a_plan_is_of_what_is_finished_and_says_what_was_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = ladder(["baseline"])
    plan = Plan(
        replace(TINY, seeds=1), (design,), (3, 4), fixed=True, all_tricks=True, left_out=("Atari: not installed",)
    )
    first = next(iter(plan.jobs))
    monkeypatch.setattr(Store, "scored", lambda _, job: done((3, 4), {}).result if job == first else None)
    found = study_of(plan, Store(tmp_path), "run")
    assert (found.name, found.designs, found.about["command"]) == (plan.name, (design,), "run")
    assert (found.about["left out"], found.about["seeds"]) == (("Atari: not installed",), [3, 5])
    assert found.runs[["tricks", "seed", "tuned"]].to_numpy().tolist() == [["", 3, "fixed"], ["", 4, "fixed"]]
    assert found.missing(design) == ["+ baseline"]


def test_the_subject_is_that_of_a_design_that_is_not_about_the_ladder() -> None:
    design = ladder(["baseline"])
    made = study(design, lambda on: 0)
    assert made.subject == replace(made, designs=()).subject == "ladder"
    assert replace(made, designs=(design, DESIGNS["beyond"](["huber", "dual_clip"]))).subject == "beyond"


def test_a_seed_past_those_that_were_asked_for_does_not_stand_in_for_one_that_is_missing() -> None:
    made = study(ladder(["baseline"]), lambda on: 0)
    late = replace(made, runs=made.runs.assign(seed=made.runs.seed + made.runs.tricks.eq("baseline")))
    assert (made.missing(made.designs[0]), made.is_whole) == ([], True)
    assert (late.missing(made.designs[0]), late.is_whole) == (["+ baseline"], False)
    assert late.of(switched(["baseline"])).seed.tolist() == [*range(1, 9)]
