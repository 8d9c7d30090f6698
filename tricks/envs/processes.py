"""Worker processes: every lane of a Gymnasium environment in a process of its own."""

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, NoReturn

import gymnasium as gym
import torch
from gymnasium.vector import AsyncVectorEnv

from tricks.core.orphans import follow_parent

PATIENCE = 5.0  # seconds that a worker has for closing its environment


def make_workers(make: Callable[[], gym.Env], lanes: int) -> AsyncVectorEnv:
    """A vector environment of `lanes` processes, each with what `make` makes; NEXT_STEP autoreset.

    They are forked where that can be, so that they know what this process has registered, and start at once. They end
    with this process, however it ends.
    """
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    return AsyncVectorEnv([partial(_begin, make, os.getpid())] * lanes, copy=False, context=method)


def close_workers(env: AsyncVectorEnv) -> None:
    """End the workers, whatever they are doing, and wait for them; those that do not close in time are killed."""
    if env.closed:
        return
    env.closed = True  # its own way of closing waits for answers that may never come
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
    """What went wrong when this error came from the workers: what one raised, or that one died, and of what."""
    if not isinstance(error, EOFError | OSError):
        return str(error)
    for lane, process in enumerate(env.processes):
        process.join(0.1)  # its pipe closes a moment before it is gone
        if process.exitcode is not None:
            code = process.exitcode
            reason = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
            return f"the worker process of lane {lane} has died ({reason})"
    return f"a worker process does not answer ({type(error).__name__})"


def _begin(make: Callable[[], gym.Env], parent: int) -> gym.Env:
    """The environment; if this is a worker, after telling it how to end.

    Ctrl-C and a closed terminal are the parent's to answer, and SIGTERM is its word to leave; nothing is printed, since
    what an environment raises is told by the parent.
    """
    if os.getpid() == parent:  # it looks at one environment to learn its spaces
        return make()
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the worker lives
    for name in ("SIGINT", "SIGHUP"):
        with contextlib.suppress(AttributeError):  # not every system has both
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)  # so that it closes its environment
    follow_parent(PATIENCE)
    torch.set_num_threads(1)  # one worker, one core
    return Telling(make())


def _leave(signal: int, frame: FrameType | None) -> NoReturn:
    sys.exit(0)


class Telling(gym.Wrapper):
    """Raises what the environment raises as an error that surely passes through a pipe: not every exception can."""

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        try:
            return self.env.reset(**options)
        except Exception as error:
            raise RuntimeError(_told(error)) from None

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        try:
            return self.env.step(action)
        except Exception as error:
            raise RuntimeError(_told(error)) from None


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
