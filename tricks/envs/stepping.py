"""The lanes of one seed: one by one or as one object in this process, or in a process each.

Each kind has `spaces`; `ask`, which begins a call, reset or step, of every lane with its own argument; `hear`, which
returns what comes of it; and `close`.
"""

import contextlib
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from math import isfinite, nan
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import cloudpickle
import gymnasium as gym
import numpy as np
import torch
from gymnasium.envs.registration import find_highest_version, get_env_id, parse_env_id
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import CloudpickleWrapper

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.extras import advice
from tricks.core.machine import follow_parent
from tricks.core.spaces import Spaces
from tricks.envs.atari import is_atari, make_games
from tricks.envs.contract import in_one, number, part_of, shows_mask
from tricks.envs.ids import import_module_of, maker_of
from tricks.envs.lane import Draws, changes, make_lane, refuse_statistics
from tricks.errors import InputError, in_words, said
from tricks.flags import meant
from tricks.texts import found, recorded
from tricks.values import shown

PATIENCE = 5.0  # seconds a worker has to close its environment

Told = dict[str, Any]  # what `read` finds in one lane's info
Outcome = tuple[Sequence[Any], Any, Any, Any, Any]
"""Parts of the observation, reward, terminated, truncated, and what was told: of one lane, or of N, [N, ...] each."""


class Start(NamedTuple):
    """How a lane is reset: with this seed, and with other draws from then on, if they are given."""

    seed: int | None = None
    draws: Draws | None = None


def read(info: Mapping[str, Any], spaces: Spaces, record: Sequence[str]) -> Told:
    """What one lane's info tells: the mask of legal actions, lives, and the numbers of these names, NaN if missing.

    Raises InputError for a mask of another size, and for what is to be recorded and is no number.
    """
    told: Told = {}
    if spaces.discrete and (mask := info.get("action_mask")) is not None:
        told["action_mask"] = legal = np.asarray(in_one(mask) if isinstance(mask, tuple | list) else mask, bool)
        if legal.shape != (spaces.actions,):
            shape = f"{legal.shape}, not ({spaces.actions},): one entry per action"
            raise InputError(f'info["action_mask"] has shape {shape}')
    lives = number(info["lives"]) if "lives" in info else None
    if lives is not None and isfinite(lives):
        told["lives"] = int(lives)
    if record:
        given = {name: found(info, name) for name in record}
        told["record"] = numbers = [nan if x is None else number(x) for x in given.values()]
        if None in numbers:
            name = record[numbers.index(None)]
            raise InputError(f"record: info[{name!r}] must be a number, not {shown(given[name])}")
    return told


class Lane:
    """One environment with NEXT_STEP autoreset, which draws from NumPy's global generator as if it were alone.

    Of its infos, only what is `read` leaves it, so they may hold anything. Raises InputError if it cannot be made.
    """

    def __init__(self, config: Config, make: MakeEnv | None, draws: Draws) -> None:
        self._draws, self._over = draws, False
        with naming(config, make), draws:
            self.env = make_lane(config, make)
        named = make is None or config.env != Config.env
        label = config.env if named else type(self.env.unwrapped).__name__
        tasks = (self.env.metadata or {}).get("tasks", 1)
        self.spaces = Spaces(label, self.env.observation_space, self.env.action_space, tasks, config.as_vector)
        self._record = tuple(recorded(config.record))

    def reset(self, start: Start) -> Outcome:
        """Start a new episode."""
        self._draws, self._over = start.draws or self._draws, False
        with self._draws:
            obs, info = self.env.reset(seed=start.seed)
        parts = [part_of(leaf, "reset()", obs) for leaf in self.spaces.leaves]
        return parts, 0.0, False, False, read(info, self.spaces, ())

    def step(self, action: Any) -> Outcome:
        """Step, or start the next episode if the last one is over."""
        if self._over:
            return self.reset(Start())
        with self._draws:
            obs, reward, terminated, truncated, info = self.env.step(action)
        self._over = terminated or truncated
        parts = [part_of(leaf, "step()", obs) for leaf in self.spaces.leaves]
        return parts, reward, terminated, truncated, read(info, self.spaces, self._record)


def together(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome of N lanes from that of each."""
    parts, reward, terminated, truncated, told = zip(*outcomes, strict=True)
    return [*zip(*parts, strict=True)], reward, terminated, truncated, told


class LocalLanes:
    """The lanes of one seed in this process, stepped one after the other."""

    def __init__(self, config: Config, make: MakeEnv | None, draws: Sequence[Draws]) -> None:
        self.lanes: list[Lane] = []
        try:
            for each in draws:
                self.lanes.append(Lane(config, make, each))
        except BaseException:
            with contextlib.suppress(Exception, SystemExit):  # what made it fail says more
                self.close()
            raise
        self.spaces = [lane.spaces for lane in self.lanes]

    def ask(self, call: str, each: Sequence[Any]) -> None:
        self._asked = call, each

    def hear(self) -> Outcome:
        call, each = self._asked
        return together(getattr(lane, call)(given) for lane, given in zip(self.lanes, each, strict=True))

    def close(self) -> None:
        """Close every lane, also if some fail to; raises what they raise."""
        with contextlib.ExitStack() as stack:
            for lane in self.lanes:
                stack.callback(lane.env.close)


def has_vector_version(config: Config, make: MakeEnv | None = None) -> bool:
    """Whether the environment has a class for many lanes, which serves unless the config changes it."""
    if make is not None or changes(config) or maker_of(config.env):
        return False
    if is_atari(config.env):
        return True
    name = import_module_of(config.env)
    namespace, plain, version = parse_env_id(name)
    if version is None:  # as for Gymnasium, the highest
        name = get_env_id(namespace, plain, find_highest_version(namespace, plain))
    return name in gym.registry and gym.registry[name].vector_entry_point is not None


class VectorLanes:
    """The lanes of one seed in one object, with NEXT_STEP autoreset; those of ale-py play in threads."""

    lanes = ()

    def __init__(self, config: Config, env: VectorEnv, draws: Draws) -> None:
        self.env, self._draws, self.close = env, draws, env.close
        kinds = env.single_observation_space, env.single_action_space
        self.spaces = [Spaces(config.env, *kinds, (env.metadata or {}).get("tasks", 1), config.as_vector)]
        self._record = tuple(recorded(config.record))
        self._read = {"action_mask", "lives", *self._record, *(name.partition(".")[0] for name in self._record)}

    @classmethod
    def of(cls, config: Config, draws: Draws) -> "VectorLanes | None":
        """Those of config.env; None if its class resets in another way, or shows masks in observations."""
        with draws:
            if is_atari(config.env):
                return cls(config, make_games(config.env, config.lanes), draws)
            env = gym.make_vec(config.env, num_envs=config.lanes)
        refuse_statistics(env)
        shown = shows_mask(env.single_observation_space, env.single_action_space)
        if env.metadata.get("autoreset_mode") == AutoresetMode.NEXT_STEP and not shown:
            return cls(config, env, draws)
        env.close()
        return None

    def ask(self, call: str, each: Sequence[Any]) -> None:
        self._finish: Callable[[], tuple[Any, ...]] = partial(self.env.step, each)
        if call == "reset":
            self._draws = each[0].draws or self._draws
            self._finish = partial(self.env.reset, seed=each[0].seed)
        elif hasattr(self.env, "recv"):  # ale-py's threads: those of all seeds play side by side
            self.env.send(each)  # type: ignore[attr-defined]
            self._finish = self.env.recv

    def hear(self) -> Outcome:
        with self._draws:
            obs, *outcome, info = self._finish()
        spaces, record = self.spaces[0], self._record if outcome else ()
        asked = range(0 if info.keys().isdisjoint(self._read) else self.env.num_envs)
        told = [read(_own(info, lane), spaces, record) for lane in asked]
        reward, terminated, truncated = outcome or (0.0, False, False)  # of a reset
        return [leaf.of(obs) for leaf in spaces.leaves], reward, terminated, truncated, told


def _own(info: Mapping[str, Any], lane: int) -> dict[str, Any]:
    """One lane's part of a joint info, which has an array for each name, and in _name which lanes gave it."""
    return {
        name: _own(x, lane) if isinstance(x, Mapping) else x[lane]
        for name, x in info.items()
        if f"_{name}" not in info or info[f"_{name}"][lane]
    }


class WorkerLanes:
    """The lanes of one seed, in a process each. They end when this process does, however it ends.

    Where possible, processes are forked: they start fast and share this one's registrations. `hear` and `spaces` raise
    InputError with what a lane raised, or if its process has died.
    """

    lanes = ()

    def __init__(self, config: Config, make: MakeEnv | None, draws: Sequence[Draws]) -> None:
        method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
        if method is None:
            with naming(config, make):  # what cannot be sent to a worker
                cloudpickle.dumps(make)
        context = multiprocessing.get_context(method)
        self._id, self._pipes, self._workers = config.env, list[Connection](), list[Any]()
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
        for lane, (pipe, given) in enumerate(zip(self._pipes, each, strict=True)):
            try:
                pipe.send((call, given))
            except OSError as error:
                raise self._died(lane, error) from error

    def hear(self) -> Outcome:
        return together(self._answer(lane) for lane in range(len(self._pipes)))

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


def work(pipe: Connection, config: Config, make: CloudpickleWrapper, draws: Draws) -> None:
    """A worker: makes its lane, sends the spaces, and answers each call with (True, what came) or (False, an error).

    The parent handles Ctrl-C and a closed terminal, and sends SIGTERM to end the worker. A worker prints nothing; the
    parent reports what an environment raises.
    """
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open for the worker's lifetime
    for name in ("SIGINT", "SIGHUP"):
        with contextlib.suppress(AttributeError):  # not every platform has both
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
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


Lanes = LocalLanes | VectorLanes | WorkerLanes


def make_lanes(config: Config, make: MakeEnv | None, draws: Sequence[Draws]) -> Lanes:
    """The lanes of one seed, each with its own draws, which `make` makes if it is given.

    An environment with a vector version of its own is used as that, unless the config changes it.
    """
    if config.backend == "processes":
        return WorkerLanes(config, make, draws)
    with naming(config, make):
        own = VectorLanes.of(config, draws[0]) if has_vector_version(config, make) else None
    return own or LocalLanes(config, make, draws)


@contextlib.contextmanager
def naming(config: Config, make: MakeEnv | None) -> Iterator[None]:
    """Raise InputError, naming the environment, for whatever its making raises."""
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # constructors and imports can raise anything
        reason = in_words(error) if isinstance(error, SystemExit) else advice(error)
        named, hint = config.env if make is None else "", ""
        if isinstance(error, gym.error.UnregisteredEnv) and "Did you mean" not in said(error):
            module, colon, name = named.rpartition(":")
            foreign = "" if module else f"; if a module of yours registers it, name that: module:{name}"
            hint = meant(name, gym.registry, before=module + colon) + foreign
        what, reason = repr(named) if named else "that env= makes", reason.rstrip(".") if hint else reason
        raise InputError(f"cannot make the environment {what}: {reason}{hint}") from error
