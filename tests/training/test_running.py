"""Running jobs: whatever is killed, truncated or full, finished work stays, and the same command does only the rest."""

import multiprocessing
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from support.jobs import JOB, JOBS, TINY, content
from support.waiting import alive, until

from ablations.training import workers as running
from ablations.training.jobs import Job, compute
from ablations.training.seed_ranges import blocks
from ablations.training.store import Store
from ablations.training.workers import in_pool, longest_first, record, run_jobs
from tricks import PPG, PPO, REINFORCE, Config, InputError
from tricks.runs.files import HOST, write_whole
from tricks.runs.progress import progress

FULL = Path("/dev/full")  # a file on which every write fails as on a full disk


def run_all(folder: str) -> None:
    """The command that is killed and then run again."""
    assert not run_jobs(JOBS, Store(Path(folder)), workers=2)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The results of an undisturbed run without workers."""
    store = Store(tmp_path_factory.mktemp("reference"))
    assert not any(record(job, store, compute(job)) for job in JOBS)
    return store


def test_after_kill_9_no_worker_survives_and_the_same_command_runs_just_what_is_missing(
    tmp_path: Path, reference: Store
) -> None:
    command = [sys.executable, "-c", "import sys, test_running; test_running.run_all(sys.argv[1])", str(tmp_path)]
    here = Path(__file__).parent  # and the tree that this process tests
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[1:3]))}
    parent = subprocess.Popen(command, cwd=here, env=env, stderr=subprocess.DEVNULL)
    until(lambda: list(tmp_path.glob("*.csv")))
    children = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.wait()
    assert len(children) >= 2
    until(lambda: not any(map(alive, children)), seconds=10)

    done = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.csv")}
    assert 1 <= len(done) < len(JOBS)
    stale = tmp_path / f".{JOBS[0].key}.csv.{HOST}.{parent.pid}"  # as if killed while it wrote
    writing = tmp_path / f".{JOBS[1].key}.csv.{HOST}.{os.getppid()}"  # as if another process were at it
    elsewhere = tmp_path / f".{JOBS[1].key}.csv.elsewhere.{parent.pid}"
    for path in (stale, writing, elsewhere):
        path.write_text("half")
    run_all(str(tmp_path))
    assert {path: path.stat().st_mtime_ns for path in done} == done
    assert {path.name for path in tmp_path.iterdir()} == {f"{job.key}.csv" for job in JOBS} | {
        writing.name,
        elsewhere.name,
    }
    assert [content(Store(tmp_path), job) for job in JOBS] == [content(reference, job) for job in JOBS]


def test_a_killed_worker_costs_no_result(tmp_path: Path, reference: Store, capsys: pytest.CaptureFixture[str]) -> None:
    def kill_one() -> None:
        until(lambda: list(tmp_path.glob("*.csv")))
        multiprocessing.active_children()[0].kill()

    killer = threading.Thread(target=kill_one)
    killer.start()
    assert run_jobs(JOBS, Store(tmp_path), workers=2) == {}
    killer.join()
    assert capsys.readouterr().err == "a worker process was killed; starting again with what is missing\n"
    assert [content(Store(tmp_path), job) for job in JOBS] == [content(reference, job) for job in JOBS]


def _deadly(job: Job) -> int:
    if job == JOBS[0]:
        os._exit(9)  # as if there were no memory for it
    return job.config.seed_list[0]


def test_a_job_that_kills_its_worker_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "TRIES", 2)
    found: list[int] = []
    with pytest.raises(InputError, match="keep being killed"):
        found.extend(seed for _, seed in in_pool(JOBS, 1, _deadly))
    assert sorted(found) == [1, 2, 3]


def test_blocks_are_whole_so_that_later_seeds_change_no_earlier_ones(tmp_path: Path) -> None:
    apart, at_once = Store(tmp_path / "apart"), Store(tmp_path / "at once")
    small = Config(steps=150, lanes=2, horizon=16)
    jobs = [Job(replace(small, seeds=block), REINFORCE) for block in blocks(range(50))]
    for some in (jobs[:1], [Job(replace(small, seeds=block), REINFORCE) for block in blocks(range(10, 50))]):
        for job in some:
            assert not record(job, apart, compute(job))
    assert run_jobs(jobs, at_once, workers=2) == {}
    assert [content(apart, job) for job in jobs] == [content(at_once, job) for job in jobs]


def test_a_damaged_file_is_named_and_set_aside_and_nothing_else_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, path = Store(tmp_path), tmp_path / f"{JOB.key}.csv"
    other = Job(replace(TINY, lr=0.5), REINFORCE)
    assert not record(JOB, store, compute(JOB))
    assert not record(other, store, compute(other))
    whole = path.read_bytes()
    header, _, rest = whole.partition(b"\n")
    lines = whole.splitlines(keepends=True)
    damaged = {
        "it is not the result of a job": [b"", b"not a result", b"a,b\n1,2\n", header, b"[" * 100_000, b"# 5\n" + rest],
        "it belongs to another job": [(tmp_path / f"{other.key}.csv").read_bytes()],
        "rows are missing or damaged": [
            whole[:-1],
            whole[:-3],  # a number of the last row has lost digits
            b"".join(lines[:-2]),
            b"".join([*lines[:-1], lines[-1].replace(b",", b",x", 1)]),
            b"".join([*lines[:-1], b"7" + lines[-1]]),  # of a seed that is not the job's
        ],
        "codec can't decode": [b"\xff\xfe\x00" * 99],
    }
    expected = []
    for reason, texts in damaged.items():
        for text in texts:
            path.write_bytes(text)
            assert store.read(JOB) is None
            said = capsys.readouterr().err
            assert said.startswith(f"{path} is damaged and will be recomputed (")
            assert reason in said
            assert said.count("\n") == 1
            assert not path.exists()
            expected.append(text)
    numbers = ["", *range(2, len(expected) + 1)]
    assert [path.with_suffix(f".damaged{number}").read_bytes() for number in numbers] == expected
    assert store.read(other) is not None


def test_a_result_that_cannot_be_read_or_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    store, file = Store(tmp_path), tmp_path / "file"
    (tmp_path / f"{JOB.key}.csv").mkdir()  # as forbidden as anything to root, too
    with pytest.raises(InputError, match=r"^cannot read .*csv: Is a directory$"):
        store.read(JOB)
    file.touch()
    for folder in (file, file / "x", Path("/dev/null/x")):
        with pytest.raises(InputError, match=f"^cannot write results to {folder}: "):
            Store(folder)
        with pytest.raises(InputError, match=f"^cannot write {folder / 'x'}: "):
            write_whole(folder / "x", "text")


def test_a_stale_error_that_cannot_be_removed_is_one_line_and_the_result_is_kept(tmp_path: Path) -> None:
    store, stale = Store(tmp_path), tmp_path / f"{JOB.key}.error.txt"
    stale.mkdir()  # no unlink removes a folder, root's neither
    with pytest.raises(InputError, match=rf"^cannot remove {stale}: .+$"):
        record(JOB, store, compute(JOB))
    assert store.read(JOB) is not None


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_full_disk_ends_in_one_line_and_keeps_what_is_finished(tmp_path: Path) -> None:
    store = Store(tmp_path)
    jobs = [replace(JOB, config=replace(TINY, seeds=(k,))) for k in range(3)]
    (tmp_path / f".{jobs[1].key}.csv.{HOST}.{os.getpid()}").symlink_to(FULL)  # where the result is written first
    with pytest.raises(InputError, match=rf"^cannot write .*{jobs[1].key}.csv: No space left on device$"):
        run_jobs(jobs, store, workers=1)
    assert [path.name for path in tmp_path.iterdir()] == [f"{jobs[0].key}.csv"]
    assert store.read(jobs[0]) is not None
    assert not multiprocessing.active_children()


def test_the_bar_counts_environment_steps_and_those_done_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[tuple[int, int]] = []

    def noting(total: int, initial: int, leave: bool) -> object:
        given.append((total, initial))
        return progress(total, initial, leave)

    monkeypatch.setattr(running, "progress", noting)
    assert not record(JOB, Store(tmp_path), compute(JOB))
    assert not run_jobs([JOB], Store(tmp_path), workers=1)
    assert given == [(400, 400)]
    assert capsys.readouterr().err == ""  # no terminal, and less than half a minute


def test_a_failing_job_stops_no_other_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Job(replace(JOB.config, env="Nonsense-v0"), REINFORCE)
    store = Store(tmp_path)
    failed = run_jobs([broken, JOB], store, workers=1)
    assert list(failed) == [broken]
    assert store.read(JOB) is not None
    assert "Nonsense" in (tmp_path / f"{broken.key}.error.txt").read_text()


def test_the_longest_jobs_start_first() -> None:
    short = Config(seeds=10, steps=1000)
    jobs = [Job(short, REINFORCE), Job(short, PPO), Job(replace(short, steps=5000), REINFORCE), Job(short, PPG)]
    assert [jobs.index(job) for job in longest_first(jobs)] == [2, 3, 1, 0]
