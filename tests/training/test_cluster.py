"""Jobs on a Dask cluster give the same results as local ones, whatever happens to the workers."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.jobs import JOB, JOBS, TINY, content
from support.waiting import until

from ablations.training.cluster import _outcome, on_cluster
from ablations.training.jobs import Finished, Job, compute
from ablations.training.store import Store
from ablations.training.workers import record, run_jobs
from tricks import REINFORCE, InputError


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A scheduler and two worker processes on this machine."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None, silence_logs=False
    ) as local:
        yield local


def test_results_equal_local_ones_although_a_worker_is_killed_and_a_job_fails(tmp_path: Path, cluster: Any) -> None:
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    broken = Job(replace(TINY, env="Nonsense-v0"), REINFORCE)
    victim = next(iter(cluster.workers.values())).pid

    def kill_one() -> None:
        until(lambda: list(there.folder.glob("*.csv")))
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    failed = run_jobs([broken, *JOBS], there, workers=1, scheduler=cluster.scheduler_address)
    killer.join()
    assert list(failed) == [broken]
    assert "Nonsense" in failed[broken]
    assert "Nonsense" in (there.folder / f"{broken.key}.error.txt").read_text()
    assert not any(record(job, here, compute(job)) for job in JOBS)
    assert [content(here, job) for job in JOBS] == [content(there, job) for job in JOBS]


def test_workers_are_sent_the_module_of_an_environment(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import gymnasium as gym\ndef make():\n    return gym.make('CartPole-v1', max_episode_steps=9)"
    (tmp_path / "sent_rooms.py").write_text(code)
    (tmp_path / "sent_badly.py").write_text("import sys\nif 'distributed.worker' in sys.modules: 1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))  # of this process alone
    job = Job(replace(TINY, env="sent_rooms:make"), REINFORCE)
    ((_, outcome),) = on_cluster([job], cluster.scheduler_address)
    assert (outcome.error, outcome.text[:1]) == ("", "#")
    bad = Job(replace(TINY, env="sent_badly:make"), REINFORCE)
    with pytest.raises(InputError, match=r"the workers cannot import .*sent_badly\.py: .*division by zero"):
        list(on_cluster([bad], cluster.scheduler_address))


def test_what_is_queued_is_dropped_when_the_run_is_left(cluster: Any) -> None:
    outcomes = on_cluster(
        [replace(JOB, config=replace(TINY, seeds=(k,))) for k in range(50)], cluster.scheduler_address
    )
    _, outcome = next(outcomes)
    assert outcome.text
    assert len(cluster.scheduler.tasks) > 10
    outcomes.close()
    until(lambda: not cluster.scheduler.tasks, seconds=10)


def test_a_result_that_another_version_has_written_is_a_failure() -> None:
    strange = SimpleNamespace(status="finished", result=lambda: Finished(text='# {"what": 1}\nseed,step\n'))
    assert "it is not the result of a job" in _outcome(strange, JOB, "tcp://a:1").error


def test_a_scheduler_that_cannot_be_reached_is_one_line_within_seconds(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:  # takes the connection and says nothing
        port = mute.getsockname()[1]
        for address in (f"127.0.0.1:{port}", "nonsense", "foo://x:1", "tcp://:"):
            start = time.monotonic()
            with pytest.raises(InputError, match=r"^cannot reach a Dask scheduler at .*; give HOST:PORT$"):
                run_jobs([JOB], Store(tmp_path), workers=1, scheduler=address)
            assert time.monotonic() - start < 8


def test_without_dask_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"\[cluster\]"):
        run_jobs([JOB], Store(tmp_path), workers=1, scheduler="127.0.0.1:1")
