"""Estimate how long jobs will take on this machine: time short runs of a few of them, as parallel as the real ones."""

import contextlib
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from ablations.training.jobs import Job, Result, compute
from ablations.training.store import Store
from ablations.training.workers import budget, in_pool, weight
from tricks import PPO, Config, train
from tricks.errors import InputError

SHARE, MOST = 0.06, 20_000  # of a job's budget, and at most so many steps
PROBES = 8


def estimate(jobs: Sequence[Job], store: Store, workers: int) -> float:
    """Seconds that `run_jobs` will take for the jobs that are not in the store.

    A few of them, spread evenly, train their first updates. Every step of their environments is assumed to cost the
    same, by `weight`. With whole episodes that is too much if they grow longer during training: batches grow with them,
    and the cost of an update is spread over more steps. Raises InputError if no job can be trained.
    """
    missing = sorted((job for job in dict.fromkeys(jobs) if not store.has(job)), key=lambda job: job.config.env)
    if not missing:
        return 0.0
    count, start, begun, error = min(len(missing), max(PROBES, workers)), time.time(), list[float](), ""
    prices = defaultdict[str, list[float]](list)  # seconds per step and weight
    for job, (began, found) in in_pool(
        [_short(missing[k * len(missing) // count]) for k in range(count)], workers, _probe
    ):
        begun.append(began)
        if isinstance(found, str):
            error = found
        else:
            prices[job.config.env].append(found.seconds / found.steps / weight(job))
    if not prices:
        raise InputError(f"no job can be trained: {error}")
    every = [price for some in prices.values() for price in some]
    each = [budget(job) * weight(job) * float(np.mean(prices.get(job.config.env, every))) for job in missing]
    return min(begun) - start + max(sum(each) / workers, *each)


def _short(job: Job) -> Job:
    """The job with only the first part of its budget."""
    return replace(job, config=replace(job.config, steps=max(1, min(MOST, round(SHARE * job.config.steps)))))


def _probe(job: Job) -> tuple[float, Result | str]:
    """The time at which the worker was ready, and the outcome of the job."""
    _warm_up(job.config.device)
    return time.time(), compute(job)


@cache
def _warm_up(device: str) -> None:
    """Pay the one-time costs of a process before the probe, so that they count as startup."""
    with contextlib.suppress(InputError):  # no such device: the probe says so
        train(Config(seeds=1, steps=1, lanes=1, horizon=16, device=device), PPO)
