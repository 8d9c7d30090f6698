"""Jobs in worker processes, one per core with one thread each, or on a cluster. Finished jobs stay finished.

Workers compute and return text; only this process writes. So a full disk is handled in one place, a killed worker
leaves no half-written result, and the machines of a cluster don't need a shared disk.
"""

import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing.queues import SimpleQueue
from typing import TypeVar

from tqdm import tqdm

from ablations.training import jobs as current
from ablations.training.gpus import gpu_count, turns
from ablations.training.jobs import Finished, Job, compute
from ablations.training.pools import deaf_children, pool_of, start_worker
from ablations.training.store import Store
from tricks.core.devices import find_device
from tricks.core.memory import Need, on_host, refuse_too_large
from tricks.errors import InputError
from tricks.runs.opening import needs
from tricks.runs.progress import progress

MOST = 10_000  # worker processes of one machine
WORKER = 150_000_000  # bytes that a worker process takes at least, mostly for PyTorch's libraries
AHEAD = 2  # jobs per worker, running or next; a result that waits to be written is kept in memory
TRIES = 3  # give up when this many pools in a row break without finishing a job

T = TypeVar("T")

tqdm.set_lock(threading.RLock())  # its default is a system semaphore, which a terminated worker would leak


def worker_count(asked: int, device: str = "cpu", scheduler: str = "") -> int:
    """The number of worker processes; 0 asks for one per core, or one per GPU of the device.

    Processes that share a GPU wait for each other, so a second one gains little. Raises InputError for a negative
    number, and if this machine has to train, because there is no scheduler, and does not have the device.
    """
    if asked < 0:
        raise InputError(f"--workers must be at least 1 (or 0: one per core), not {asked}")
    if asked > MOST:
        raise InputError(f"--workers must be at most {MOST:,}, not {asked}")
    if not scheduler:
        find_device(device)
    return asked or gpu_count(device) or os.cpu_count() or 1


def refuse_too_many(jobs: Sequence[Job], workers: int) -> None:
    """Raise InputError if a job, or so many workers with the largest job each, need more memory than is free."""
    found = [on_host(needs(job.config, job.tricks), job.config.device) for job in jobs]
    most = max(found, key=lambda some: sum(need.bytes for need in some), default=[])
    refuse_too_large(most)
    running, each = min(workers, len(jobs)), WORKER + sum(need.bytes for need in most)
    refuse_too_large([Need(f"{running:,} worker processes", running * each, ("workers",))])


def run_jobs(jobs: Sequence[Job], store: Store, workers: int, scheduler: str = "") -> dict[Job, str]:
    """Train every job that has no result yet. Returns the error of each job that failed.

    scheduler: the address of a Dask scheduler that runs the jobs; if empty, worker processes do. A failed job does not
    stop the others. Raises InputError if a result cannot be written or the scheduler cannot be reached.
    """
    jobs = list(dict.fromkeys(jobs))
    missing = longest_first([job for job in jobs if not store.has(job)])
    if others := [k for job in missing if (k := store.other_algorithm(job)) is not None]:
        by = ", ".join(map(str, sorted({*others})))
        why = f"their stored results are by ALGORITHM {by}, and this version's is {current.ALGORITHM}"
        print(f"trained anew, because {why}: {len(others)} of {len(jobs)} jobs", flush=True)
    total, left = (sum(budget(job) for job in some) for some in (jobs, missing))
    failed: dict[Job, str] = {}
    if not scheduler:
        refuse_too_many(missing, workers)
    outcomes = _anywhere(missing, workers, scheduler)
    with (
        progress(total, total - left, leave=True) as bar,
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


def longest_first(jobs: Sequence[Job]) -> list[Job]:
    """The order in which the workers finish at about the same time: a long job that starts last is waited for."""
    return sorted(jobs, key=lambda job: -budget(job) * (2 + passes(job)))  # playing takes about as long as two passes


def passes(job: Job) -> int:
    """How many times a job learns from each row."""
    config, tricks = job.config, job.tricks
    return (config.epochs if tricks.reuse else 1) + (config.aux_epochs if tricks.ppg else 0)


def _anywhere(jobs: list[Job], workers: int, scheduler: str) -> Generator[tuple[Job, Finished], None, None]:
    if any(job.own is not None and not job.own.pickled for job in jobs):  # it cannot go elsewhere
        return ((job, compute(job)) for job in jobs)
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
    left, broken = dict.fromkeys(jobs), 0
    while left:
        try:
            for job, outcome in in_one_pool(list(left), workers, task):
                del left[job]
                broken = 0
                yield job, outcome
        except BrokenProcessPool as error:
            broken += 1
            if broken == TRIES:
                raise InputError("worker processes keep being killed; try --workers 1, or free some memory") from error
            first = list(left)[:workers]  # one of them may be to blame, so the others go first
            left = dict.fromkeys([*list(left)[workers:], *first])
            tqdm.write("a worker process was killed; starting again with what is missing", file=sys.stderr)


def in_one_pool(jobs: Sequence[Job], workers: int, task: Callable[[Job], T]) -> Generator[tuple[Job, T], None, None]:
    size = min(workers, len(jobs))
    with pool_of(size, start_trainer, turns(jobs[0].config.device, size)) as pool:
        waiting, running = iter(jobs), dict[Future[T], Job]()
        done: queue.SimpleQueue[Future[T]] = queue.SimpleQueue()

        def send(count: int) -> None:
            for job in islice(waiting, count):
                with deaf_children():  # the pool starts its processes when it gets its first jobs
                    future = pool.submit(task, job)
                running[future] = job
                future.add_done_callback(done.put)

        send(AHEAD * size)
        while running:
            future = done.get()
            yield running.pop(future), future.result()
            send(1)


def start_trainer(gpus: "SimpleQueue[int] | None" = None) -> None:
    """Set up a process that trains. gpus: which of several GPUs is this one's `cuda`; see `turns`."""
    start_worker()
    import torch

    torch.set_num_threads(1)
    if gpus is not None:
        torch.cuda.set_device(gpus.get())
