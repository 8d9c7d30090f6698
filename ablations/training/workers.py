"""Jobs in worker processes, one per core with one thread each, or on a cluster. Finished jobs stay finished.

Workers compute and return text; only this process writes. So a full disk is handled in one place, a killed worker
leaves no half-written result, and the machines of a cluster don't need a shared disk.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from tqdm import tqdm

from ablations.training.jobs import Finished, Job, compute
from ablations.training.store import Store
from tricks.core.orphans import follow_parent
from tricks.errors import InputError

BLOCK = 10  # seeds of one job
TRIES = 3  # give up when this many pools in a row break without finishing a job

T = TypeVar("T")


def blocks(seeds: Sequence[int], size: int = BLOCK) -> list[tuple[int, ...]]:
    """The whole blocks that contain the seeds: 0 to 9, 10 to 19, ...

    Rounding depends on which seeds share a stack, so a job is a fixed block, whichever seeds were requested.
    """
    return [tuple(range(number * size, (number + 1) * size)) for number in sorted({seed // size for seed in seeds})]


def worker_count(asked: int) -> int:
    """The number of worker processes; 0 asks for one per core. Raises InputError for a negative number."""
    if asked < 0:
        raise InputError(f"--workers must be at least 1 (or 0: one per core), not {asked}")
    return asked or os.cpu_count() or 1


def run_jobs(jobs: Sequence[Job], store: Store, workers: int, scheduler: str = "") -> dict[Job, str]:
    """Train every job that has no result yet. Returns the error of each job that failed.

    scheduler: the address of a Dask scheduler that runs the jobs; if empty, worker processes do. A failed job does not
    stop the others. Raises InputError if a result cannot be written or the scheduler cannot be reached.
    """
    jobs = list(dict.fromkeys(jobs))
    missing = [job for job in jobs if not store.has(job)]
    total, left = (sum(budget(job) for job in some) for some in (jobs, missing))
    failed: dict[Job, str] = {}
    outcomes = _anywhere(missing, workers, scheduler)
    with (
        tqdm(total=total, initial=total - left, unit="step", unit_scale=True, disable=None) as bar,
        contextlib.closing(outcomes),  # an error here stops the workers, too
    ):
        for job, outcome in outcomes:
            if error := record(job, store, outcome):
                failed[job] = error
            bar.update(budget(job))
    return failed


def budget(job: Job) -> int:
    """Environment steps of all seeds, to which the time of a job is proportional."""
    return job.config.steps * len(job.config.seed_list)


def _anywhere(jobs: list[Job], workers: int, scheduler: str) -> Generator[tuple[Job, Finished], None, None]:
    if not scheduler:
        return in_pool(jobs, workers, compute)
    from ablations.training.cluster import on_cluster

    return on_cluster(jobs, scheduler)


def record(job: Job, store: Store, outcome: Finished) -> str:
    """Store the outcome of a job. Returns the error if it failed, else an empty string."""
    if outcome.error:
        store.fail(job, outcome.detail)
    else:
        store.put(job, outcome.text)
    return outcome.error


def in_pool(jobs: Sequence[Job], workers: int, task: Callable[[Job], T]) -> Generator[tuple[Job, T], None, None]:
    """Yield each job with the result of `task` from a worker process, as they finish.

    A worker that is killed from outside takes down its pool, and the remaining jobs go into a new one. Raises
    InputError if that keeps happening.
    """
    left, broken = list(jobs), 0
    while left:
        try:
            for job, outcome in _one_pool(left, workers, task):
                left.remove(job)
                broken = 0
                yield job, outcome
        except BrokenProcessPool as error:
            broken += 1
            if broken == TRIES:
                raise InputError("worker processes keep being killed; try --workers 1, or free some memory") from error
            left = left[workers:] + left[:workers]  # one of the first may be to blame, so the others go first
            tqdm.write("a worker process was killed; starting again with what is missing", file=sys.stderr)


def _one_pool(jobs: Sequence[Job], workers: int, task: Callable[[Job], T]) -> Generator[tuple[Job, T], None, None]:
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(jobs)), context, initializer=_start_worker)
    try:
        futures = {pool.submit(task, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    follow_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    os.environ["OMP_NUM_THREADS"] = "1"
    warnings.filterwarnings("ignore", module="gymnasium")
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - only the parent shows a progress bar
    tqdm.set_lock(threading.RLock())  # its default is a system semaphore, which a terminated worker would leak
    import torch

    torch.set_num_threads(1)
