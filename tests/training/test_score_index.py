"""Scores: curves on a common grid, the area under them, their last tenth; and their index, which is as good as reading
the results, valid as long as they stay as they are, and never needed."""

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.many_jobs import fill_random
from support.probes import Probe

from ablations.training import score_index, seed_ranges
from ablations.training.jobs import Job
from ablations.training.scores import area, late, on_grid
from ablations.training.store import Store
from ablations.training.workers import in_one_pool, in_pool
from tricks import Config, train
from tricks.ladder import switched
from tricks.runs.learning_curve import late_return

Patch = pytest.MonkeyPatch
Filled = tuple[Path, list[Job]]
FEW = 4  # results in memory, here
AGENTS = 60  # in six jobs


class Counting(Store):
    """A store that counts the results it reads."""

    count = 0

    def read(self, job: Job) -> Any:
        Counting.count += 1
        return super().read(job)


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: Patch) -> Filled:
    monkeypatch.setattr(score_index, "LATEST", FEW)
    monkeypatch.setattr(Counting, "count", 0)
    return tmp_path / "jobs", fill_random(tmp_path, AGENTS, updates=5)


def reads(folder: Path, jobs: Sequence[Job], look_only: bool = False) -> int:
    """How many results a command reads that asks twice for each, first whether it is there, and then for its scores."""
    before, store = Counting.count, Counting(folder, look_only)
    assert all(store.has(job) for job in jobs)
    assert look_only or all(store.scored(job) for job in jobs)
    return Counting.count - before


def test_many_results_are_read_once_and_not_by_every_command_and_looking_changes_nothing(filled: Filled) -> None:
    folder, jobs = filled
    index, many, rest = folder / "scores.sqlite", len(jobs), len(jobs) - FEW  # those that were still in memory
    reads(folder, jobs[: FEW - 1])  # few results leave no second file
    assert reads(folder, jobs, look_only=True) == many == 6
    assert not index.exists()
    assert reads(folder, jobs) == many  # once per job
    before = index.read_bytes()
    assert (reads(folder, jobs, look_only=True), index.read_bytes()) == (rest, before)
    assert reads(folder, jobs) == rest
    for content in (b"", b"not a database" * 100):  # a damaged one is made again
        for path in folder.glob("scores.sqlite*"):
            path.unlink()
        index.write_bytes(content)
        assert [reads(folder, jobs), reads(folder, jobs)] == [many, rest]


def test_scores_from_the_index_are_those_of_the_results_to_the_last_bit(filled: Filled) -> None:
    folder, jobs = filled
    first = [Store(folder).scored(job) for job in jobs]
    reads(folder, jobs)
    for job, expected in zip(jobs, first, strict=True):
        found, seeds = Store(folder).scored(job), job.config.seed_list
        assert found is not None
        assert expected is not None
        assert (found.grid == expected.grid).all()
        pd.testing.assert_frame_equal(found.table(seeds), expected.table(seeds), check_exact=True)
        assert replace(found, grid=expected.grid, late=expected.late) == expected
    path, expected = folder / "scores.sqlite", first[0]
    assert expected is not None
    whole = path.read_bytes()
    pieces = [expected.grid[0, k : k + 8].tobytes() for k in (0, 8)]  # of one job; all have the same curves
    place = max(map(whole.find, pieces))  # a piece may be cut where a page of the file ends
    assert place > 0
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    Counting.count, store = 0, Counting(folder)
    for job in jobs:
        found = store.scored(job)
        assert found is not None
        assert (found.grid == expected.grid).all()
    assert Counting.count == len(jobs) - FEW + 1  # that one was read again


def test_a_changed_result_and_scores_of_other_code_do_not_count(
    filled: Filled, capsys: pytest.CaptureFixture[str], monkeypatch: Patch
) -> None:
    folder, jobs = filled
    reads(folder, jobs)
    with monkeypatch.context() as patched:
        patched.setattr(score_index, "TABLE", "scores_of_tomorrow")
        assert reads(folder, jobs) == len(jobs)
    (folder / f"{jobs[0].key}.csv").write_text("damaged")
    (folder / f"{jobs[1].key}.csv").unlink()
    store = Store(folder)
    assert [store.has(job) for job in jobs[:3]] == [False, False, True]
    assert "is damaged and will be recomputed" in capsys.readouterr().err


def test_scores_that_cannot_be_written_stay_in_memory(filled: Filled, monkeypatch: Patch) -> None:
    folder, jobs = filled
    reads(folder, jobs)
    for job in jobs:
        (folder / f"{job.key}.csv").touch()  # with another time, they are read again, and would be written
    with contextlib.closing(sqlite3.connect(folder / "scores.sqlite")) as reader:
        reader.execute("BEGIN")
        reader.execute(f"SELECT * FROM {score_index.TABLE}").fetchone()  # which keeps the others from a commit
        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0))
        store = Counting(folder)
        for _ in range(2):
            assert all(store.scored(job) for job in jobs)
    assert Counting.count == 2 * len(jobs)


def _number(job: Job) -> int:
    return job.config.seed_list[0]


def test_a_pool_holds_few_jobs_and_blocks_look_at_each_seed_a_fixed_number_of_times(filled: Filled) -> None:
    drawn: list[int] = []

    class Watched(list[Job]):
        def __iter__(self) -> Any:
            for number, job in enumerate(super().__iter__()):
                drawn.append(number)
                yield job

    outcomes = in_one_pool(Watched(filled[1]), 1, _number)
    next(outcomes)
    assert len(drawn) <= 2
    outcomes.close()
    assert sorted(number for _, number in in_pool(filled[1], 2, _number)) == [_number(job) for job in filled[1]]

    class Seeds(tuple[int, ...]):
        looks = 0

        def __iter__(self) -> Any:
            for seed in super().__iter__():
                Seeds.looks += 1
                yield seed

    for count in (300, 3000):
        Seeds.looks = 0
        assert len(seed_ranges.blocks(Seeds(range(count)))) == count / 15
        assert Seeds.looks <= 2 * count


def test_curves_meet_a_common_grid_on_which_a_diverged_seed_counts_as_untrained() -> None:
    curve = pd.DataFrame({"seed": 0, "step": [100, 200, 300, 400], "return": [10.0, np.nan, 30.0, 50.0]})
    grid = on_grid(curve, 400, {})
    assert grid.columns[[0, -1]].tolist() == [4, 400]
    assert (grid[200.0].tolist(), grid[4.0].tolist()) == ([20], [10])  # linear across the update without an episode
    # 25 points at 10, then up by 20 over 50 points, then by 20 over 25
    rising = 10 + 20 * np.arange(1, 51) / 50
    assert area(grid)[0] == pytest.approx(np.mean([*[10] * 25, *rising, *(30 + 20 * np.arange(1, 26) / 25)]))
    grid = on_grid(pd.DataFrame({"seed": 0, "step": [100, 200], "return": [10.0, 90.0]}), 400, {0: 200})
    assert (grid.loc[0, 200.0:] == 10).all()
    assert grid[196.0].min() > 80
    grid = on_grid(pd.DataFrame({"seed": [0, 1], "step": [50, 50], "return": [1.0, np.nan]}), 100, {})
    assert grid.index.tolist() == [0, 1]  # a seed without an episode is not left out
    assert np.isnan(grid.loc[1]).all()


def test_the_last_tenth_counts_episodes_and_the_area_updates() -> None:
    curve = pd.DataFrame({"seed": 0, "step": [90, 95, 100], "return": [7.0, 10.0, 40.0], "episodes": [9, 2, 1]})
    silent = pd.DataFrame({"seed": 1, "step": [95], "return": [np.nan], "episodes": [0]})
    found = late(pd.concat([curve, silent]), 100, {})
    assert found[0] == (2 * 10 + 40) / 3
    assert np.isnan(found[1])
    assert late(curve, 100, {0: 95})[0] == 7  # diverged: as the untrained agent
    curve = pd.DataFrame({"seed": 0, "step": [100, 500], "return": [10.0, 0.0], "episodes": [20, 1]})
    assert area(on_grid(curve, 500, {}))[0] == pytest.approx(np.mean([*[10] * 20, *np.linspace(9.875, 0, 80)]))
    assert late_return(curve, 500, share=1.0)[0] == pytest.approx(200 / 21)


class ShortPays(Probe):
    """Half of the episodes take 5 steps and pay 10, the other half 400 and nothing, whatever the actions."""

    def first(self) -> float:
        self.length = int(self.np_random.choice([5, 400]))
        return 0.0

    def pay(self, action: int) -> float:
        return 10.0 * (self.length == 5 and self.t == 4)


@pytest.mark.parametrize(("tricks", "expected"), [((), 5), (("baseline", "segments"), 10)])
def test_with_segments_the_first_points_are_of_short_episodes(tricks: tuple[str, ...], expected: float) -> None:
    """The agents don't learn: their mean return is 5 from the first step to the last."""
    config = Config(seeds=4, steps=400, lanes=8, horizon=16, hidden=(4,), lr=1e-12)
    first = on_grid(train(config, switched(tricks), ShortPays).curve, 400, {}).iloc[:, 0]
    assert (first.mean(), (first == 10).all()) == (pytest.approx(expected, abs=0.75), expected == 10)
