"""Worker processes: each lane of a Gymnasium environment in its own process."""

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from types import FrameType
from typing import Any, NoReturn

import cloudpickle
import gymnasium as gym
import torch
from gymnasium.vector import AsyncVectorEnv
from gymnasium.vector.async_vector_env import AsyncState

from tricks.core.orphans import follow_parent
from tricks.errors import InputError, in_words, said

PATIENCE = 5.0  # seconds a worker has to close its environment


def make_workers(make: Callable[[], gym.Env], lanes: int) -> AsyncVectorEnv:
    """A vector environment of `lanes` processes, each with an environment from `make`; NEXT_STEP autoreset.

    Where possible the processes are forked: they start fast and share this process's registrations. They end when this
    process does, however it ends.
    """
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    if method is None:
        refuse_unpicklable(make)
    return Workers([partial(_begin, make, os.getpid())] * lanes, copy=False, context=method)


def refuse_unpicklable(make: Callable[[], gym.Env]) -> None:
    """Raise InputError if a function cannot be sent to a worker process."""
    try:
        cloudpickle.dumps(make)
    except Exception as error:  # whatever an object's own method raises
        raise InputError(
            f"the environment cannot be sent to worker processes ({in_words(error)}); register it in a module and name "
            "it module:Id, or use backend gymnasium"
        ) from error


class Workers(AsyncVectorEnv):
    """Raises the first error of a worker, without printing its traceback."""

    def _raise_if_errors(self, successes: Iterable[bool]) -> None:
        if not all(successes):
            _, kind, error, _ = self.error_queue.get()
            self._state = AsyncState.DEFAULT
            raise error if isinstance(error, BaseException) else kind(error)


def close_workers(env: AsyncVectorEnv) -> None:
    """Terminate the workers, even in mid-step, and wait for them; kill those that do not close in time."""
    if env.closed:
        return
    env.closed = True  # its own close() waits for answers that may never come
    for process in env.processes:
        process.terminate()
    deadline = time.monotonic() + PATIENCE
    for process in env.processes:
        process.join(max(0.0, deadline - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()
    for pipe in env.parent_pipes:
        if pipe is not None:
            pipe.close()


def what_happened(env: AsyncVectorEnv, error: Exception) -> str:
    """Describe an error that came from the workers: the exception in one, or how one died."""
    if not isinstance(error, EOFError | OSError):
        return said(error)
    for lane, process in enumerate(env.processes):
        process.join(0.1)  # its pipe closes just before it exits
        if process.exitcode is not None:
            code = process.exitcode
            reason = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
            return f"the worker process of lane {lane} has died ({reason})"
    return f"a worker process does not respond ({type(error).__name__})"


def _begin(make: Callable[[], gym.Env], parent: int) -> gym.Env:
    """Make the environment; in a worker, first set up signal handling and output.

    The parent handles Ctrl-C and a closed terminal, and sends SIGTERM to end the worker. A worker prints nothing; the
    parent reports what an environment raises.
    """
    if os.getpid() == parent:  # AsyncVectorEnv makes one environment in the parent to learn its spaces
        return make()
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open for the worker's lifetime
    for name in ("SIGINT", "SIGHUP"):
        with contextlib.suppress(AttributeError):  # not every platform has both
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)  # sys.exit closes the environment
    follow_parent(PATIENCE)
    torch.set_num_threads(1)  # one worker, one core
    return PlainErrors(make())


def _leave(signal: int, frame: FrameType | None) -> NoReturn:
    sys.exit(0)


class PlainErrors(gym.Wrapper):
    """Re-raises the environment's exceptions as RuntimeError, because not every exception can be pickled."""

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        try:
            return self.env.reset(**options)
        except Exception as error:
            raise RuntimeError(in_words(error)) from None

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        try:
            return self.env.step(action)
        except Exception as error:
            raise RuntimeError(in_words(error)) from None
