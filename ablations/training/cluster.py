"""Jobs on a Dask cluster: `dask scheduler` on one machine, `dask worker ADDRESS --nthreads 1` on as many as you like.

Workers need this package but no shared disk, because they return results as text, and because they are sent the file of
an environment `module:Id` or `module:function` of the user's. If a worker is killed, Dask runs its job elsewhere.
"""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from typing import Any

from ablations.training import jobs as current
from ablations.training.jobs import Job, Result, compute, files_of
from tricks.core.extras import extra
from tricks.errors import InputError, in_words
from tricks.fast.allocator import keep_memory

AHEAD = 10_000  # jobs that the scheduler knows at a time, which keeps it small and thousands of cores busy
PATIENCE = 5.0  # seconds to wait for a scheduler's answer


def on_cluster(jobs: Sequence[Job], address: str) -> Generator[tuple[Job, Result | str], None, None]:
    """Yield each job with its outcome, as they finish. If the caller stops early, Dask drops the jobs in its queue.

    Raises InputError if there is no scheduler at the address, or if it goes away.
    """
    if not jobs:
        return
    with _client(address) as client:
        _send_files(client, files_of(job.config for job in jobs))
        waiting, running = iter(jobs), extra("cluster", "distributed").as_completed(loop=client.loop)
        known: dict[Any, Job] = {}

        def send(count: int) -> None:
            some = {client.submit(_train, job, pure=False): job for job in islice(waiting, count)}
            known.update(some)
            running.update(list(some))

        send(AHEAD)
        for future in running:
            job = known.pop(future)
            yield job, outcome_of(future, address)
            send(1)


def _send_files(client: Any, files: Sequence[str]) -> None:
    """Let every worker, also one that comes later, import these modules. Raises InputError if one cannot."""
    for file in files:
        try:
            client.upload_file(file)
        except Exception as error:  # whatever the module raises there
            raise InputError(f"the workers cannot import {file}: {in_words(error)}") from error


def _train(job: Job) -> Result | str:
    """Train a job on a worker of the cluster."""
    import torch

    torch.set_num_threads(1)  # this and the next two lines: as in a worker process of our own
    os.environ["OMP_NUM_THREADS"] = "1"
    keep_memory()
    return compute(job)


def outcome_of(future: Any, address: str) -> Result | str:
    """What became of a finished task, checked: the worker may have another version of this package."""
    if future.status in ("cancelled", "lost"):
        raise InputError(f"the scheduler at {address} is gone")
    try:
        outcome: Result | str = future.result()
        by = None if isinstance(outcome, str) else outcome.made_with.get("algorithm")
        if by is not None and by != current.ALGORITHM:
            raise ValueError(f"the worker has ALGORITHM {by}, and this is {current.ALGORITHM}")
        return outcome
    except Exception as error:  # anything that kept the task from running: KilledWorker, a module missing there
        return " ".join(f"{type(error).__name__} on the cluster: {error}".split())


@contextlib.contextmanager
def _client(address: str) -> Iterator[Any]:
    distributed = extra("cluster", "distributed")
    for logger in ("distributed", "distributed.client"):  # our own one-line errors say what matters
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    try:
        about = asyncio.run(asyncio.wait_for(_identity(address), PATIENCE))
        if about["type"] != "Scheduler":
            raise ValueError(f"there is a {about['type']}")
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except Exception as error:  # whatever answers may not be Dask, and can raise anything
        reason = " ".join(str(error).split()) or "no answer"
        raise InputError(f"cannot reach a Dask scheduler at {address!r} ({reason}); give HOST:PORT") from error
    if not about["workers"]:
        print(f"the scheduler at {address} has no workers yet; waiting for the first", file=sys.stderr)
    try:
        yield client
    finally:
        client.close(timeout=PATIENCE)


async def _identity(address: str) -> dict[str, Any]:
    """How the Dask server at the address identifies itself."""
    async with extra("cluster", "distributed").rpc(address) as server:
        about: dict[str, Any] = await server.identity()
        return about
