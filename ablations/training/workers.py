"""Jobs in worker processes, one per core with one thread each. Workers compute and return results; only this process
writes, so a full disk is handled in one place, and a killed worker leaves no half-written result.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import resource_tracker
from typing import TypeVar

import torch
from tqdm import tqdm

from ablations.training.jobs import Job, compute
from ablations.training.store import Store
from tricks.core.machine import Need, find_device, follow_parent, on_host, refuse_too_large
from tricks.errors import InputError
from tricks.fast.allocator import keep_memory
from tricks.ladder import OWN
from tricks.own_trick import load_trick
from tricks.runs.progress import progress
from tricks.training import needs

METHOD = "spawn"  # forks would share PyTorch's threads and the parent's signals
WORKER = 150_000_000  # bytes that a worker process takes at least, mostly for PyTorch's libraries
TRIES = 3  # give up when this many pools in a row break without finishing a job
SHARE, MOST = 0.06, 20_000  # of a job's budget that is trained for an estimate, and at most so many steps
START = 5.0  # seconds in which worker processes start
T = TypeVar("T")
tqdm.set_lock(threading.RLock())  # its default is a system semaphore, which a terminated worker would leak


def start_trainer(tricks: Sequence[str]) -> None:
    """Set up a process: it ends with its parent, is silent, computes on one core, and knows these files' tricks."""
    follow_parent()
    keep_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Windows, which cannot block it
    os.environ["OMP_NUM_THREADS"] = "1"
    warnings.filterwarnings("ignore", module="gymnasium")
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - only the parent shows a progress bar
    for file in tricks:
        load_trick(file)
    torch.set_num_threads(1)


@contextlib.contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that are started here never see Ctrl-C or a closed terminal, not even while they import torch.

    The parent handles both, after this block if they arrive during it. Children inherit which signals are blocked. They
    don't run the user's script again, either, which may start them outside of any `if __name__ == "__main__"`: what
    they need of it, they get by value.
    """
    main, blocks = sys.modules["__main__"], hasattr(signal, "pthread_sigmask")  # not on Windows
    script = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    unheard = {signal.SIGINT, signal.SIGHUP} if blocks else set()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, unheard) if blocks else unheard
    try:
        vars(main).pop("__file__", None)
        main.__spec__ = None
        if blocks:
            resource_tracker.ensure_running()  # it starts with the first lock, and its start unblocks SIGINT
            signal.pthread_sigmask(signal.SIG_BLOCK, unheard)
        yield
    finally:
        vars(main).update(script)
        if blocks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def worker_count(asked: int, device: str = "cpu") -> int:
    """The number of worker processes; 0: one per core, or one on a GPU. Raises InputError without such a device."""
    if asked < 0:
        raise InputError(f"--workers must be 0 (one per core) or more, not {asked}")
    find_device(device)
    return asked or (1 if device.startswith("cuda") else os.cpu_count() or 1)


def refuse_too_many(jobs: Sequence[Job], workers: int) -> None:
    """Raise InputError if a job, or so many workers with the largest job each, need more memory than is free."""
    found = [on_host(needs(job.config, job.tricks), job.config.device) for job in jobs]
    most = max(found, key=lambda some: sum(need.bytes for need in some), default=[])
    refuse_too_large(most)
    running, each = min(workers, len(jobs)), WORKER + sum(need.bytes for need in most)
    refuse_too_large([Need(f"{running:,} worker processes", running * each, ("workers",))])


def run_jobs(jobs: Iterable[Job], store: Store, workers: int) -> dict[Job, str]:
    """Train every job that has no result yet. Returns the errors of those that failed, which stop no others.

    Raises InputError if a result cannot be written.
    """
    jobs = list(dict.fromkeys(jobs))
    missing = [job for job in jobs if not store.has(job)]
    missing.sort(key=lambda job: -budget(job) * weight(job))  # a long job that starts last would be waited for
    if missing and (older := store.by_other_algorithms()):
        said = f"{older} of the jobs in {store.path} were trained under another ALGORITHM and no longer count"
        print(said, flush=True)
    total, left = (sum(map(budget, some)) for some in (jobs, missing))
    refuse_too_many(missing, workers)
    failed, outcomes = dict[Job, str](), in_pool(missing, workers, compute)
    with progress(total, total - left, leave=True) as bar, contextlib.closing(outcomes):  # on an error, workers stop
        for job, outcome in outcomes:
            if isinstance(outcome, str):
                failed[job] = outcome
            else:
                store.put(job, outcome)
            bar.update(budget(job))
    return failed


def budget(job: Job) -> int:
    """Environment steps of all seeds, to which the time of a job is proportional."""
    return job.config.steps * len(job.config.seed_list)


def weight(job: Job) -> int:
    """The time of an environment step, in passes over its row: playing takes about as long as two of them."""
    config, tricks = job.config, job.tricks
    return 2 + (config.epochs if tricks.reuse else 1) + (config.aux_epochs if tricks.ppg else 0)


def in_pool(jobs: Sequence[Job], workers: int, task: Callable[[Job], T]) -> Generator[tuple[Job, T], None, None]:
    """Yield each job with the result of `task` from a worker process, as they finish.

    If a worker is killed from outside, the remaining jobs go into a new pool. InputError if that keeps happening.
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
            left = dict.fromkeys([*list(left)[workers:], *list(left)[:workers]])  # those to blame, maybe, go last
            tqdm.write("a worker process was killed; starting again with what is missing", file=sys.stderr)


def in_one_pool(jobs: Sequence[Job], workers: int, task: Callable[[Job], T]) -> Generator[tuple[Job, T], None, None]:
    """The same in one pool of new processes. An error here, or Ctrl-C, terminates them in the middle of their work."""
    size, files = min(workers, len(jobs)), [str(path) for path, _ in OWN.values()]
    with deaf_children():
        pool = ProcessPoolExecutor(size, multiprocessing.get_context(METHOD), start_trainer, (files,))
    try:
        with deaf_children():  # the pool starts its processes when it gets its first job
            running = {pool.submit(task, job): job for job in jobs}
        for future in as_completed(running):
            yield running.pop(future), future.result()
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def estimate(jobs: Sequence[Job], store: Store, workers: int) -> float:
    """About how many seconds `run_jobs` will take for the jobs that are not in the store.

    A job of each environment trains its first updates here, twice, because the first time compiles. Every step costs
    the same, by `weight`: too much if whole episodes grow longer. Raises InputError if a job fails.
    """
    missing = [job for job in dict.fromkeys(jobs) if not store.has(job)]
    prices = {}  # seconds per step and weight
    for env, job in {job.config.env: job for job in missing}.items():
        short = replace(job, config=replace(job.config, steps=max(1, min(MOST, round(SHARE * job.config.steps)))))
        _, found = compute(short), compute(short)
        if isinstance(found, str):
            raise InputError(f"a job in {env} cannot be trained: {found}")
        prices[env] = found.seconds / found.steps / weight(job)
    each = [budget(job) * weight(job) * prices[job.config.env] for job in missing]
    return START + max(sum(each) / workers, *each) if each else 0.0
