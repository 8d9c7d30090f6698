"""Running jobs: whatever is killed, signaled or full, finished work stays, and the same command does only the rest, in
workers of its own or on a GPU, and says beforehand how long it will take."""

import multiprocessing
import os
import re
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import torch
from support.commands import alive, begin, ended, largest_file, until
from support.fixtures import Capture, Patch, Told, refusal
from support.studies import JOB, JOBS, TINY, content, finished, result

from ablations.analysis.records import Done, about_runs
from ablations.cli import main
from ablations.experiments.design_runs import What, questions
from ablations.training import workers
from ablations.training.jobs import Job
from ablations.training.scores import scored
from ablations.training.store import Store
from ablations.training.workers import deaf_children, estimate, in_pool, run_jobs, worker_count
from tricks import PPG, PPO, REINFORCE, Config, InputError
from tricks.core import machine
from tricks.runs import provenance

COMMAND = ("run", "--tricks", "baseline", "--seeds", "20", "--workers", "2", "--out", "x")
BROKEN = Job(replace(TINY, env="Nonsense-v0"), REINFORCE)
unix = pytest.mark.skipif(sys.platform == "win32", reason="signals as Unix has them")


def _deadly(job: Job) -> int:
    if job == JOBS[0]:
        os._exit(9)  # as if there were no memory for it
    return job.config.seed_list[0]


def test_killed_workers_cost_nothing(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    def kill_one() -> None:
        until(lambda: finished(tmp_path))
        multiprocessing.active_children()[0].kill()

    killer = threading.Thread(target=kill_one)
    killer.start()
    assert run_jobs(JOBS, Store(tmp_path), workers=2) == {}
    killer.join()
    assert capsys.readouterr().err == "a worker process was killed; starting again with what is missing\n"
    undisturbed = Store(tmp_path / "undisturbed")
    for job in JOBS:
        undisturbed.put(job, result(job))
        assert content(Store(tmp_path), job) == content(undisturbed, job)
    monkeypatch.setattr(workers, "TRIES", 2)
    found: list[int] = []
    refusal("keep being killed", found.extend, (seed for _, seed in in_pool(JOBS, 1, _deadly)))
    assert sorted(found) == [1, 2, 3]


@unix
def test_a_full_disk_ends_in_one_line_and_keeps_what_is_finished(tmp_path: Path) -> None:
    store, jobs = Store(tmp_path), [replace(JOB, config=replace(TINY, seeds=(k,))) for k in range(9)]
    assert not run_jobs(jobs[:1], store, workers=1)
    size = store.path.stat().st_size
    with largest_file(size + 8000), pytest.raises(InputError, match=rf"^cannot write {store.path}: .+$"):
        run_jobs(jobs, store, workers=1)
    done = [job for job in jobs if Store(tmp_path).has(job)]
    assert jobs[0] in done and len(finished(tmp_path)) == len(done) < len(jobs)
    assert not multiprocessing.active_children()
    assert not run_jobs(jobs, store, workers=1) and all(map(store.has, jobs))


def test_the_longest_jobs_start_first_and_a_failing_one_stops_no_other(tmp_path: Path, monkeypatch: Patch) -> None:
    store = Store(tmp_path)
    failed = run_jobs([BROKEN, JOB], store, workers=1)
    assert list(failed) == [BROKEN] and "Nonsense" in failed[BROKEN] and store.read(JOB) is not None
    short = Config(seeds=10, steps=1000)
    jobs = [Job(short, REINFORCE), Job(short, PPO), Job(replace(short, steps=5000), REINFORCE), Job(short, PPG)]
    monkeypatch.setattr(workers, "in_pool", lambda given, *_: ((job, str(jobs.index(job))) for job in given))
    assert [*run_jobs(jobs, store, workers=1).values()] == ["2", "3", "1", "0"]


@unix
@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP", "SIGTERM"])
def test_a_signal_while_workers_import_torch_is_one_line_and_leaves_none(name: str, tmp_path: Path) -> None:
    process = begin("ablations", COMMAND, tmp_path)
    parent = psutil.Process(process.pid)
    until(lambda: len(parent.children()) == 3)  # two workers, and the tracker of their resources
    children = parent.children()
    os.killpg(process.pid, getattr(signal, name))
    status, _, err = ended(process)
    assert status == 128 + getattr(signal, name)
    assert err == "interrupted; finished jobs are kept, and the same command resumes from there\n"
    until(lambda: not any(map(alive, children)), seconds=10)


@unix
def test_a_signal_that_comes_while_workers_start_is_not_lost() -> None:
    started = []

    def start() -> None:
        with deaf_children():
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # other threads block no signals
            started.append("a worker")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert started == ["a worker"]


def test_an_estimate_is_of_what_is_not_done_by_a_short_job_that_is_no_result(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put(JOB, result(JOB))
    assert estimate([JOB], store, workers=2) == 0
    refusal(r"^a job in Nonsense-v0 cannot be trained: .*Nonsense", estimate, [BROKEN], store, workers=1)
    assert 0 < estimate([JOB, Job(replace(TINY, lr=0.5), REINFORCE)], store, workers=1) < 60
    assert [*finished(tmp_path)] == [JOB.key]  # a short job is no result


def test_a_dry_run_says_what_is_done_and_changes_nothing_on_the_disk(tmp_path: Path, told: Told) -> None:
    what = ["run", "--tricks", "baseline", "--steps", "300", "--seeds", "2", "--workers", "1", "--dry-run"]
    said = told([*what, "--out", str(tmp_path / "absent")], main=main)
    assert "2 jobs, 0 of them done before; each arm trains seeds 0 to 9\n" in said
    assert re.search(r"about \d+ seconds with 1 worker", said)
    assert not list(tmp_path.iterdir())
    (asked,) = questions(What(tricks="baseline", steps=300), "2")
    done, damaged = asked.jobs(asked.table_rates)
    store = Store(tmp_path)
    for job in (done, damaged):
        store.put(job, result(job))
    with store._writing() as disk:
        disk.execute("UPDATE jobs SET about = '' WHERE key = ?", (damaged.key,))
    (tmp_path / ".x.csv.other.4194305").write_text("half")

    def files() -> dict[Path, tuple[bytes, int]]:
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}

    before = files()
    said = told([*what, "--out", str(tmp_path)], main=main)
    assert len(before) == 2 and "1 of them done before" in said and "  reinforce\n  + baseline\n" in said
    assert files() == before


def on(device: str) -> Job:
    return replace(JOB, config=replace(JOB.config, device=device))


def test_any_gpu_may_train_a_job_and_the_default_device_by_any_name_finds_it(tmp_path: Path, told: Told) -> None:
    assert on("cuda").key == on("cuda:1").key != JOB.key
    assert (on("cuda:1").what["config"]["device"], on("cpu:0").key) == ("cuda", JOB.key)
    assert "device" not in JOB.what["config"]
    refusal(r"^no device 'cuda:7'", worker_count, 1, "cuda:7")
    few = ["run", "--tricks", "baseline", "--steps", "64", "--seeds", "2", "--workers", "1", "--out", str(tmp_path)]
    for count, device in ((0, []), (2, ["--device", "cpu"]), (2, ["--device", "cpu:0"])):
        assert f"2 jobs, {count} of them done before" in told([*few, *device], main=main)


def test_there_is_one_worker_on_a_gpu_and_its_jobs_take_no_memory_of_the_host(monkeypatch: Patch) -> None:
    monkeypatch.setattr(workers, "find_device", lambda name: torch.device(name))
    assert [worker_count(0, device) for device in ("cuda", "cuda:1", "cpu")] == [1, 1, os.cpu_count()]
    assert worker_count(5, "cuda") == 5
    monkeypatch.setattr(machine, "free_memory", lambda device="cpu": 10**9)
    large = Config(seeds=1000, steps=100, lanes=64, horizon=512)
    refusal("of memory", workers.refuse_too_many, [Job(large, JOB.tricks)], 1)
    workers.refuse_too_many([Job(replace(large, device="cuda"), JOB.tricks)], 1)
    small = [Job(replace(JOB.config, lr=0.1 * k), JOB.tricks) for k in range(1, 9)]
    for jobs, count in ((small, 2), (small[:2], 8)):  # there are no more processes than jobs
        workers.refuse_too_many(jobs, count)
    refusal("8 worker processes", workers.refuse_too_many, small, 8)


def test_a_result_names_its_gpu(monkeypatch: Patch) -> None:
    plain = result(JOB)
    monkeypatch.setattr(provenance, "gpu_name", lambda device: "Model T")
    named = result(JOB)
    assert (plain.made_with["device"], named.made_with["device"]) == ("cpu", "cpu (Model T)")
    there = scored(replace(named, made_with={**named.made_with, "device": "cuda (Model T)"}), JOB.config.steps)
    noted = about_runs("x", [Done(on("cuda:1"), "", there), Done(on("cuda:0"), "", there)], [0, 1])["made with"]
    assert noted["device"] == ["cuda (Model T)"]
