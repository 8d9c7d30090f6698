"""What is wrong with a study's file is said in a few words, and what is only unusual is read."""

import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.studies import study

from ablations.analysis.studies import Study
from ablations.analysis.study_files import SUFFIX, load, refuse_another, save
from ablations.design.designs import ladder
from ablations.training.tagged_csv import tagged
from tricks import Config, InputError

Change = Callable[[pd.DataFrame], pd.DataFrame]
MADE = study(ladder(["baseline"]), lambda on: 0, seeds=5)
FACTS: dict[str, Any] = {**MADE.about, "designs": [["ladder", ["baseline"]]]}


def read(folder: Path, runs: pd.DataFrame = MADE.runs, facts: Mapping[str, Any] = FACTS) -> Study:
    """The study of these runs, as a file says it whose first line has these facts."""
    path = folder / f"x{SUFFIX}"
    path.write_bytes(gzip.compress(tagged({**FACTS, **facts}, runs, digits=5).encode()))
    return load(path)


def first(**values: Any) -> Change:
    """Other values in the first row alone."""
    return lambda runs: pd.concat([runs.head(1).assign(**values), runs[1:]])


LACKS, NO_NUMBER, INFINITE = "columns or rows are missing", "a number is missing", "a return is infinite, or a step neg"
NOT_POSITIVE, MIXED = "a learning rate or a budget is not positive", "not of one environment, budget and set of numbers"
BAD_RUNS: dict[str, tuple[Change, str]] = {
    "no column": (lambda runs: runs.drop(columns="tuned"), LACKS),
    "no row": (lambda runs: runs[:0], LACKS),
    "half a seed": (first(seed=0.5), NO_NUMBER),
    "half a step": (first(steps=0.5), NO_NUMBER),
    "a word": (first(lr="small"), NO_NUMBER),
    "infinite": (first(late=np.inf), INFINITE),
    "diverged before it began": (first(diverged=-1), INFINITE),
    "a rate of 0": (first(lr=0), NOT_POSITIVE),
    "no budget": (first(steps=0), NOT_POSITIVE),
    "a seed too early": (first(seed=-1), "the seeds are not those of its first line"),
    "all seeds too late": (lambda runs: runs.assign(seed=runs.seed + 5), "the seeds are not those of its first line"),
    "a seed twice": (first(seed=1), "a run is there twice"),
    "an arm at two rates": (first(seed=1, lr=0.1), "a run is there twice"),
    "an arm with two reservations": (first(seed=1, tuned="fixed"), "a run is there twice"),
    "two environments": (first(env="Acrobot-v1"), MIXED),
    "two budgets": (first(steps=7), MIXED),
}


@pytest.mark.parametrize("what", BAD_RUNS)
def test_runs_that_cannot_be_are_refused_with_the_reason(what: str, tmp_path: Path) -> None:
    change, reason = BAD_RUNS[what]
    with pytest.raises(InputError, match=reason):
        read(tmp_path, change(MADE.runs))


WRONG_SIZE = "its time or its steps cannot be"
BAD_FACTS: dict[str, tuple[dict[str, Any], str]] = {
    "endless steps": ({"steps": np.inf}, WRONG_SIZE),
    "fewer steps than none": ({"steps": -1.0}, WRONG_SIZE),
    "endless time": ({"seconds": np.inf}, WRONG_SIZE),
    "less time than none": ({"seconds": -1.0}, WRONG_SIZE),
    "no such design": ({"designs": [["lader", ["baseline"]]]}, "there is no design 'lader' of 'baseline'"),
    "no such trick": ({"designs": [["ladder", ["base"]]]}, "there is no design 'ladder' of 'base'"),
    "one end of the seeds": ({"seeds": [0]}, "seeds"),
    "three ends of the seeds": ({"seeds": [0, 5, 9]}, "seeds"),
    "no agents": ({"trained": [], "random": [[1.0]]}, "length >= 1"),
    "no games": ({"trained": [[]], "random": [[]]}, "length >= 1"),
    "an infinite score": ({"trained": [[1.0, np.inf]], "random": [[1.0, 2.0]]}, "a score of a game is not finite"),
}


@pytest.mark.parametrize("what", BAD_FACTS)
def test_facts_that_cannot_be_are_refused_with_the_reason(what: str, tmp_path: Path) -> None:
    facts, reason = BAD_FACTS[what]
    facts = {"games": facts, "run": "x", "greedy": False} if "trained" in facts else facts
    with pytest.raises(InputError, match=reason):
        read(tmp_path, facts=facts)


def test_what_is_unusual_but_can_be_is_read(tmp_path: Path) -> None:
    """Nothing counted, no time known, an agent that diverged at once, one step, and one game of each agent."""
    assert read(tmp_path, facts={"steps": 0, "seconds": 0}).about["seconds"] == 0
    assert np.isnan(read(tmp_path, facts={"seconds": np.nan}).about["seconds"])
    found = read(tmp_path, MADE.runs.assign(diverged=0, steps=1))
    assert (found.runs.diverged.tolist(), found.steps) == ([0] * 10, 1)
    games = {"trained": [[1.0]], "random": [[2.0]]}
    assert read(tmp_path, facts={"games": games, "run": "x", "greedy": False}).about["games"] == games


def test_what_looks_like_a_number_stays_the_text_that_it_is(tmp_path: Path) -> None:
    assert read(tmp_path, MADE.runs.assign(tuned="007")).runs.tuned.tolist() == ["007"] * 10


def test_trials_may_have_an_arm_at_two_rates_but_not_twice_at_one(tmp_path: Path) -> None:
    again = pd.concat([MADE.runs, MADE.runs.assign(lr=0.1, tuned="fixed", env="tricks/Corridor-v0")])
    assert len(read(tmp_path, again, {"designs": []}).runs) == 20
    with pytest.raises(InputError, match="a run is there twice"):
        read(tmp_path, pd.concat([MADE.runs, MADE.runs.assign(tuned="fixed")]), {"designs": []})


def test_a_study_of_a_single_run_is_whole(tmp_path: Path) -> None:
    found = read(tmp_path, MADE.runs[:1])
    assert (found.env, found.steps, len(found.runs)) == ("CartPole-v1", 100_000, 1)
    refuse_another(tmp_path / f"x{SUFFIX}", Config())


def test_the_same_study_is_the_same_file_whenever_it_is_saved(tmp_path: Path) -> None:
    _, path = save(MADE, tmp_path)
    assert path.read_bytes()[4:8] == bytes(4)  # where gzip keeps the time


def test_a_study_of_another_device_is_refused_by_its_name(tmp_path: Path) -> None:
    read(tmp_path, facts={"made with": {"backend": ["auto"], "device": ["cuda"]}})
    with pytest.raises(InputError, match="the usual numbers, backend auto, device cuda; choose another --out"):
        refuse_another(tmp_path / f"x{SUFFIX}", Config())
    refuse_another(tmp_path / f"x{SUFFIX}", Config(device="cuda:1"))
    read(tmp_path, facts={"made with": {"backend": ["gymnasium"]}})
    with pytest.raises(InputError, match="backend gymnasium; choose another --out"):  # and no word of a device
        refuse_another(tmp_path / f"x{SUFFIX}", Config())
