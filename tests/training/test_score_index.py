"""The index of scores: as good as reading the results, valid as long as they stay as they are, and never needed."""

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.many_jobs import fill_random

from ablations.training import score_index, seed_ranges
from ablations.training.jobs import Job
from ablations.training.store import Store
from ablations.training.workers import in_pool

FEW = 4  # results in memory, here
AGENTS = 60  # in six jobs


class Counting(Store):
    """A store that counts the results it reads."""

    count = 0

    def read(self, job: Job) -> Any:
        Counting.count += 1
        return super().read(job)


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[Job]]:
    monkeypatch.setattr(score_index, "LATEST", FEW)
    monkeypatch.setattr(Counting, "count", 0)
    return tmp_path / "jobs", fill_random(tmp_path, AGENTS, updates=5)


def reads(folder: Path, jobs: Sequence[Job], look_only: bool = False) -> int:
    """How many results a command reads that asks twice for each, first whether it is there, and then for its scores."""
    before, store = Counting.count, Counting(folder, look_only)
    assert all(store.has(job) for job in jobs)
    if not look_only:
        assert all(store.scored(job) for job in jobs)
    return Counting.count - before


def test_many_results_are_read_once_and_not_by_every_command(filled: tuple[Path, list[Job]]) -> None:
    folder, jobs = filled
    assert reads(folder, jobs) == len(jobs) == 6  # once per job
    assert reads(folder, jobs) == len(jobs) - FEW  # those that were still in memory
    assert (folder / "scores.sqlite").exists()


def test_few_results_leave_no_second_file(filled: tuple[Path, list[Job]]) -> None:
    folder, jobs = filled
    reads(folder, jobs[: FEW - 1])
    assert not (folder / "scores.sqlite").exists()


def test_scores_from_the_index_are_those_of_the_results_to_the_last_bit(filled: tuple[Path, list[Job]]) -> None:
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


def test_a_result_that_has_changed_is_read_again(
    filled: tuple[Path, list[Job]], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, jobs = filled
    reads(folder, jobs)
    (folder / f"{jobs[0].key}.csv").write_text("damaged")
    (folder / f"{jobs[1].key}.csv").unlink()
    store = Store(folder)
    assert [store.has(job) for job in jobs[:3]] == [False, False, True]
    assert "is damaged and will be recomputed" in capsys.readouterr().err


def test_scores_that_cannot_be_written_stay_in_memory(
    filled: tuple[Path, list[Job]], monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.parametrize("content", [b"", b"not a database" * 100])
def test_an_index_that_is_damaged_is_made_again(content: bytes, filled: tuple[Path, list[Job]]) -> None:
    folder, jobs = filled
    (folder / "scores.sqlite").write_bytes(content)
    assert reads(folder, jobs) == len(jobs)
    assert reads(folder, jobs) == len(jobs) - FEW


def test_a_flipped_bit_in_the_index_is_noticed(filled: tuple[Path, list[Job]]) -> None:
    folder, jobs = filled
    reads(folder, jobs)
    path, expected = folder / "scores.sqlite", Store(folder).scored(jobs[0])
    assert expected is not None
    whole = path.read_bytes()
    pieces = [expected.grid[0, k : k + 8].tobytes() for k in (0, 8)]  # of one job; all have the same curves
    place = max(map(whole.find, pieces))  # a piece may be cut where a page of the file ends
    assert place > 0
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    store = Counting(folder)
    found = [store.scored(job) for job in jobs]
    assert all(each is not None and (each.grid == expected.grid).all() for each in found)
    assert Counting.count == len(jobs) + len(jobs) - FEW + 1  # that one was read again


def test_scores_that_other_code_has_made_do_not_count(
    filled: tuple[Path, list[Job]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, jobs = filled
    reads(folder, jobs)
    monkeypatch.setattr(score_index, "TABLE", "scores_of_tomorrow")
    assert reads(folder, jobs) == len(jobs)


def test_looking_changes_nothing_and_uses_the_index(filled: tuple[Path, list[Job]]) -> None:
    folder, jobs = filled
    assert reads(folder, jobs, look_only=True) == len(jobs)
    assert not (folder / "scores.sqlite").exists()
    reads(folder, jobs)
    before = (folder / "scores.sqlite").read_bytes()
    assert reads(folder, jobs, look_only=True) == len(jobs) - FEW
    assert (folder / "scores.sqlite").read_bytes() == before


def _number(job: Job) -> int:
    return job.config.seed_list[0]


def test_a_pool_holds_a_few_jobs_and_results_however_many_wait(filled: tuple[Path, list[Job]]) -> None:
    _, jobs = filled
    drawn: list[int] = []

    class Watched(list[Job]):
        def __iter__(self) -> Any:
            for number, job in enumerate(super().__iter__()):
                drawn.append(number)
                yield job

    from ablations.training.workers import _one_pool

    outcomes = _one_pool(Watched(jobs), 1, _number)
    next(outcomes)
    assert len(drawn) <= 2
    outcomes.close()
    assert sorted(number for _, number in in_pool(jobs, 2, _number)) == [_number(job) for job in jobs]


def test_blocks_look_at_each_seed_a_fixed_number_of_times() -> None:
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
