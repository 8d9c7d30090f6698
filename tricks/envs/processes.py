"""Worker processes: each lane of a Gymnasium environment in its own process."""

import contextlib
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from functools import cached_property
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, NoReturn

import cloudpickle
import torch
from gymnasium.vector.utils import CloudpickleWrapper

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.machine import follow_parent
from tricks.core.spaces import Spaces
from tricks.envs.generators import Draws
from tricks.envs.stepping import Columns, Lane, Told, naming
from tricks.errors import InputError, in_words

PATIENCE = 5.0  # seconds a worker has to close its environment


class WorkerLanes:
    """The lanes of one seed, in a process each. They end when this process does, however it ends.

    Where possible the processes are forked: they start fast and share this process's registrations. `hear` and `spaces`
    raise InputError with what a lane raised, or if its process has died.
    """

    lanes = ()

    def __init__(self, config: Config, make: MakeEnv | None, draws: Sequence[Draws]) -> None:
        method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
        if method is None:
            with naming(config, make):  # what cannot be sent to a worker
                cloudpickle.dumps(make)
        context = multiprocessing.get_context(method)
        self._id = config.env
        self._pipes: list[Connection] = []
        self._workers: list[Any] = []
        for each in draws:
            ours, theirs = context.Pipe()
            given = theirs, config, CloudpickleWrapper(make), each  # type: ignore[arg-type]
            worker = context.Process(target=work, args=given, daemon=True)  # type: ignore[attr-defined]
            worker.start()
            theirs.close()  # so that the pipe closes when the worker dies
            self._pipes.append(ours)
            self._workers.append(worker)

    @cached_property
    def spaces(self) -> list[Spaces]:
        """Those of each lane, once it has been made."""
        return [cloudpickle.loads(self._answer(lane, f"{self._id}: ")) for lane in range(len(self._pipes))]

    def ask(self, call: str, each: Sequence[Any]) -> None:
        """Begin a call, reset or step, of every lane with its own argument; `hear` writes down what comes of it."""
        for lane, (pipe, given) in enumerate(zip(self._pipes, each, strict=True)):
            try:
                pipe.send((call, given))
            except OSError as error:
                raise self._died(lane, error) from error

    def hear(self, columns: Columns) -> dict[int, Told]:
        return columns.fill([self._answer(lane) for lane in range(len(self._pipes))])

    def _answer(self, lane: int, before: str = "") -> Any:
        try:
            well, answer = self._pipes[lane].recv()
        except (EOFError, OSError) as error:
            raise self._died(lane, error, before) from error
        if not well:
            raise InputError(answer)
        return answer

    def _died(self, lane: int, error: Exception, before: str = "") -> InputError:
        """What became of a worker whose pipe is closed."""
        worker = self._workers[lane]
        worker.join(1.0)  # its pipe closes just before it exits
        code, reason = worker.exitcode, type(error).__name__
        if code is not None:
            reason = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return InputError(f"{before}the worker process of lane {lane} has died ({reason})")

    def close(self) -> None:
        """Terminate the workers, even in mid-step, and wait for them; kill those that do not close in time."""
        for worker in self._workers:
            worker.terminate()
        deadline = time.monotonic() + PATIENCE
        for worker in self._workers:
            worker.join(max(0.0, deadline - time.monotonic()))
            if worker.is_alive():
                worker.kill()
                worker.join()
        for pipe in self._pipes:
            pipe.close()
        self._workers, self._pipes = [], []


def work(pipe: Connection, config: Config, make: CloudpickleWrapper, draws: Draws) -> None:
    """A worker: makes its lane, sends the spaces, and answers each call with (True, what came) or (False, an error).

    The parent handles Ctrl-C and a closed terminal, and sends SIGTERM to end the worker. A worker prints nothing; the
    parent reports what an environment raises.
    """
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open for the worker's lifetime
    for name in ("SIGINT", "SIGHUP"):
        with contextlib.suppress(AttributeError):  # not every platform has both
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    follow_parent(PATIENCE)
    torch.set_num_threads(1)  # one worker, one core
    random.seed()  # of a fork, it is the parent's
    torch.seed()
    try:
        lane = Lane(config, make.fn, draws)
        with contextlib.closing(lane.env):
            pipe.send((True, cloudpickle.dumps(lane.spaces)))
            while True:
                call, given = pipe.recv()
                pipe.send((True, getattr(lane, call)(given)))
    except EOFError:  # the parent is gone
        return
    except Exception as error:
        pipe.send((False, in_words(error)))


def _leave(signal: int, frame: FrameType | None) -> NoReturn:
    sys.exit(0)
