"""Pools of processes that end with this one and leave Ctrl-C to it."""

import contextlib
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from typing import Any

from tricks.core.orphans import follow_parent
from tricks.errors import InputError
from tricks.fast.allocator import keep_memory

METHOD = "spawn"  # forks would share PyTorch's threads and the parent's signals


@contextlib.contextmanager
def pool_of(size: int, initializer: Callable[..., None], *arguments: Any) -> Iterator[ProcessPoolExecutor]:
    """A pool of new processes. An error here, or Ctrl-C, terminates them in the middle of their work."""
    context = multiprocessing.get_context(METHOD)
    with deaf_children():
        pool = ProcessPoolExecutor(size, context, initializer=initializer, initargs=arguments)
    try:
        yield pool
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def whole_pool(size: int, initializer: Callable[..., None], *arguments: Any) -> Iterator[ProcessPoolExecutor]:
    """The same, for work that needs every one of its processes. Raises InputError if one is killed."""
    try:
        with pool_of(size, initializer, *arguments) as pool:
            yield pool
    except BrokenProcessPool as error:
        raise InputError("a worker process was killed or could not start; free some memory, and try again") from error


@contextlib.contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that are started here never see Ctrl-C or a closed terminal, not even while they import torch.

    The parent handles both, after this block if they arrive during it. Children inherit which signals are blocked. They
    don't run the user's script again, either, which may start them outside of any `if __name__ == "__main__"`.
    """
    with _script_hidden(), _signals_blocked():
        yield


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """Hold back Ctrl-C and a closed terminal until this block ends."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    unheard = {signal.SIGINT, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, unheard)
    try:
        resource_tracker.ensure_running()  # it starts with the first lock, and its start unblocks SIGINT
        signal.pthread_sigmask(signal.SIG_BLOCK, unheard)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _script_hidden() -> Iterator[None]:
    """Hide the script that runs, which new processes would import: what they need of it, they get by value."""
    main = sys.modules["__main__"]
    before = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    try:
        vars(main).pop("__file__", None)
        main.__spec__ = None
        yield
    finally:
        vars(main).update(before)


def start_worker() -> None:
    """Set up a process: it ends with its parent, is silent, computes on one core, and reuses its memory."""
    follow_parent()
    keep_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Windows, which cannot block it
    os.environ["OMP_NUM_THREADS"] = "1"
    warnings.filterwarnings("ignore", module="gymnasium")
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - only the parent shows a progress bar
