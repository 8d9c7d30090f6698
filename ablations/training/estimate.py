"""Estimate how long jobs will take on this machine: time short runs of a few of them, as parallel as the real ones."""

import contextlib
import heapq
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ablations.training.jobs import Finished, Job, compute, parse_result
from ablations.training.store import Store
from ablations.training.workers import budget, in_pool, longest_first
from tricks import PPO, Config, Tricks, train
from tricks.errors import InputError

SHARE, MOST = 0.06, 20_000  # of a job's budget, and at most so many steps
PROBES = 8


def estimate(jobs: Sequence[Job], store: Store, workers: int) -> float:
    """Seconds that `run_jobs` will take for the jobs that are not in the store.

    A probe trains the first updates of a job, and every later environment step is assumed to cost the same. With whole
    episodes that is too much if they grow longer during training: batches grow with them, and the cost of an update is
    spread over more steps. Raises InputError if no job can be trained.
    """
    missing = longest_first([job for job in dict.fromkeys(jobs) if not store.has(job)])
    if not missing:
        return 0.0
    start = time.time()
    begun, prices, errors = [], {}, []
    for job, (began, outcome) in in_pool([short(job) for job in probes(missing, workers)], workers, _probe):
        begun.append(began)
        if outcome.error:
            errors.append(outcome.error)
        else:
            result = parse_result(job, outcome.text)
            prices[job] = result.seconds / result.steps
    if not prices:
        raise InputError(f"no job can be trained: {errors[0]}")
    each = {kind_of(job): price(job, prices) for job in {kind_of(job): job for job in missing}.values()}
    return min(begun) - start + makespan([budget(job) * each[kind_of(job)] for job in missing], workers)


def probes(jobs: Sequence[Job], workers: int) -> list[Job]:
    """A few jobs, spread evenly over the kinds (environment and flags), and at least as many as run at once."""
    kinds: dict[tuple[str, Tricks], Job] = {}
    for job in jobs:
        kinds.setdefault((job.config.env, job.tricks), job)
    distinct, count = list(kinds.values()), min(PROBES, len(kinds))
    chosen = [distinct[round(i * (len(distinct) - 1) / max(count - 1, 1))] for i in range(count)]
    others = [job for job in jobs if job not in chosen]
    return chosen + others[: max(0, workers - count)]


def short(job: Job) -> Job:
    """The job with only the first part of its budget."""
    return Job(replace(job.config, steps=max(1, min(MOST, round(SHARE * job.config.steps)))), job.tricks)


def kind_of(job: Job) -> tuple[Any, ...]:
    """What the price of a job depends on: everything but its seeds and their learning rates."""
    numbers = [x for name, x in vars(job.config).items() if name not in ("seeds", "lr")]
    return (*numbers, job.tricks)


def price(job: Job, prices: dict[Job, float]) -> float:
    """Seconds per environment step: the mean over the probes that are most similar to the job."""

    def distance(probe: Job) -> tuple[bool, bool, int]:
        numbers = replace(probe.config, seeds=job.config.seeds, lr=job.config.lr) != short(job).config
        return probe.config.env != job.config.env, numbers, len(set(probe.tricks.on) ^ set(job.tricks.on))

    near = min(distance(probe) for probe in prices)
    alike = [seconds for probe, seconds in prices.items() if distance(probe) == near]
    return sum(alike) / len(alike)


def makespan(seconds: Sequence[float], workers: int) -> float:
    """Seconds until the last job ends if each job, in order, goes to the first free worker."""
    free = [0.0] * workers
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def _probe(job: Job) -> tuple[float, Finished]:
    """The time at which the worker was ready, and the outcome of the job."""
    _warm_up(job.config.device)
    return time.time(), compute(job)


@cache
def _warm_up(device: str) -> None:
    """Pay the one-time costs of a process before the probe, so that they count as startup."""
    with contextlib.suppress(InputError):  # no such device: the probe says so
        train(Config(seeds=1, steps=1, lanes=1, horizon=16, device=device), PPO)
