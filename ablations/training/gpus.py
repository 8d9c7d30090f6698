"""The devices to train on: the GPUs of this machine, and which worker process trains on which."""

import multiprocessing
from multiprocessing.queues import SimpleQueue
from typing import Annotated

from ablations.training.pools import deaf_children

Device = Annotated[
    str,
    "Where to train: cpu, cuda (all GPUs of this machine), cuda:1, ... Results of CPUs and GPUs differ in "
    "rounding, so they count as different jobs.",
]


def gpu_count(device: str) -> int:
    """The number of GPUs that a device names: all of them for cuda, one for cuda:1, none for cpu."""
    if not device.startswith("cuda"):
        return 0
    import torch  # slow to load, and not needed on a CPU

    return 1 if ":" in device else torch.cuda.device_count()


def turns(device: str, workers: int) -> "SimpleQueue[int] | None":
    """The number of a GPU for each worker process to take, so that all are used; None if there is no choice."""
    count = gpu_count(device)
    if count < 2:
        return None
    with deaf_children():
        queue = multiprocessing.get_context("spawn").SimpleQueue()
    for worker in range(workers):
        queue.put(worker % count)
    return queue
