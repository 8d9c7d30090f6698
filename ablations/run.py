"""Jobs in worker processes, one a core with one thread each; what is finished stays finished."""

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from tqdm import tqdm

from ablations.store import Job, Store
from tricks.core.errors import InputError

BLOCK = 10  # seeds of one job; fixed, so that rounding cannot depend on which other seeds were asked for


def blocks(seeds: Sequence[int]) -> list[tuple[int, ...]]:
    """Seeds by block: 0 to 9, 10 to 19, ..."""
    numbers = sorted({seed // BLOCK for seed in seeds})
    return [tuple(seed for seed in seeds if seed // BLOCK == number) for number in numbers]


def run_jobs(jobs: Sequence[Job], store: Store, workers: int) -> dict[Job, str]:
    """Train every job whose result is not there yet; returns the error of each job that failed.

    A failed job does not stop the others. Raises InputError if a result cannot be written.
    """
    missing = [job for job in dict.fromkeys(jobs) if store.read(job) is None]
    failed: dict[Job, str] = {}
    with tqdm(total=len(missing), unit="job", disable=None) as bar:
        for _ in range(3):  # a worker that is killed from outside takes its pool along; the rest is tried again
            missing = [job for job in missing if job not in failed and store.read(job) is None]
            if not missing or not _run_pool(missing, store, workers, failed, bar):
                break
            print("a worker process was killed; starting again with what is missing", file=sys.stderr)
        else:
            raise InputError("worker processes keep being killed; try --workers 1, or free some memory")
    return failed


def _run_pool(jobs: list[Job], store: Store, workers: int, failed: dict[Job, str], bar: tqdm) -> bool:
    """Run the jobs in one pool. True if the pool broke before it was through."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(jobs)), context, initializer=_start_worker)
    futures = {pool.submit(work, job, store): job for job in jobs}
    try:
        for future in as_completed(futures):
            error = future.result()
            if error:
                failed[futures[future]] = error
            bar.update()
        return False
    except BrokenProcessPool:
        return True
    except BaseException:
        for process in (pool._processes or {}).values():
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    os.environ["OMP_NUM_THREADS"] = "1"
    warnings.filterwarnings("ignore", module="gymnasium")
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - one progress bar, the parent's
    tqdm.set_lock(threading.RLock())  # its default is a system semaphore, which a terminated worker would leak
    import torch

    torch.set_num_threads(1)


def work(job: Job, store: Store) -> str:
    """Train one job and write its result; returns the error if it failed, else nothing."""
    from tricks import train

    start = time.perf_counter()
    try:
        store.write(job, train(job.config, job.tricks), time.perf_counter() - start)
        return ""
    except InputError as error:
        store.fail(job, str(error))
        return str(error)
    except Exception as error:
        store.fail(job, traceback.format_exc())
        return f"{type(error).__name__}: {error}"
