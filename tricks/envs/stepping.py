"""How lanes are stepped: each one in this process or in a process of its own, or all of a seed as one object.

Each kind has `spaces`; `place`, which lanes of its seed it is; `ask`, which begins a call, reset or step, with one
argument for each lane; `hear`, which returns what comes of it; and `close`.
"""

import contextlib
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from math import isfinite, nan
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import gymnasium as gym
import torch
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
Outcome = tuple[Sequence[Any], Any, Any, Any, dict[int, Told]]
"""Parts of the observation, reward, terminated, truncated, of one lane or [N, ...] of many; what each lane told."""


def read(info: Mapping[str, Any], spaces: Spaces, record: Sequence[str]) -> Told:
    """What one lane's info tells: the mask of legal actions, lives, and the numbers of these names, NaN if missing.

    Raises InputError for a mask of another size, and for what is to be recorded and is no number.
    """
    told: Told = {}
    if spaces.discrete and (mask := info.get("action_mask")) is not None:
        told["action_mask"] = legal = in_one(mask).astype(bool)
        if legal.shape != (spaces.actions,):
            shape = f"{legal.shape}, not ({spaces.actions},): one entry per action"
            raise InputError(f'info["action_mask"] has shape {shape}')
    if (lives := number(info.get("lives"))) is not None and isfinite(lives):
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
        self.place, self._draws, self._over = draws.place, draws, False
        with naming(config, make), draws:
            self.env = make_lane(config, make)
        named = make is None or config.env != Config.env
        label = config.env if named else type(self.env.unwrapped).__name__
        tasks = (self.env.metadata or {}).get("tasks", 1)
        self.spaces = Spaces(label, self.env.observation_space, self.env.action_space, tasks, config.as_vector)
        self._record = tuple(recorded(config.record))
        self.close = self.env.close

    def ask(self, call: str, each: Sequence[Any]) -> None:
        self._asked = call, each

    def hear(self) -> Outcome:
        call, each = self._asked
        return getattr(self, call)(*each)  # type: ignore[no-any-return]

    def reset(self) -> Outcome:
        """Start a new episode."""
        self._over = False
        with self._draws:
            obs, info = self.env.reset(seed=self._draws.first_seed())
        parts = [part_of(leaf, "reset()", obs) for leaf in self.spaces.leaves]
        return parts, 0.0, False, False, {self.place.start: read(info, self.spaces, ())}

    def step(self, action: Any) -> Outcome:
        """Step, or start the next episode if the last one is over."""
        if self._over:
            return self.reset()
        with self._draws:
            obs, reward, terminated, truncated, info = self.env.step(action)
        self._over = terminated or truncated
        parts = [part_of(leaf, "step()", obs) for leaf in self.spaces.leaves]
        return parts, reward, terminated, truncated, {self.place.start: read(info, self.spaces, self._record)}


class VectorLanes:
    """The lanes of one seed in one object, with NEXT_STEP autoreset; those of ale-py and EnvPool play in threads."""

    def __init__(self, config: Config, env: VectorEnv, draws: Draws) -> None:
        self.env, self._draws, self.close, self.place = env, draws, env.close, slice(0, config.lanes)
        kinds = env.single_observation_space, env.single_action_space
        self.spaces = Spaces(config.env, *kinds, (env.metadata or {}).get("tasks", 1), config.as_vector)
        self._record = tuple(recorded(config.record))
        self._read = {"action_mask", "lives", *self._record, *(name.partition(".")[0] for name in self._record)}

    @classmethod
    def of(cls, config: Config, make: MakeEnv | None, draws: Draws) -> "VectorLanes | None":
        """Those of config.env; None if it has no such class or the config changes it.

        Nor does a class serve that resets in another way, or shows masks in observations.
        """
        if make is not None or changes(config) or maker_of(config.env):
            return None
        with draws:
            if is_atari(config.env):
                return cls(config, make_games(config.env, config.lanes), draws)
            spec = gym.registry.get(import_module_of(config.env))
            if spec is None or spec.vector_entry_point is None:
                return None
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
            self._finish = partial(self.env.reset, seed=self._draws.first_seed())
        elif hasattr(self.env, "recv"):  # threads: those of all seeds play side by side
            self.env.send(each)  # type: ignore[attr-defined]
            self._finish = self.env.recv

    def hear(self) -> Outcome:
        with self._draws:
            obs, *outcome, info = self._finish()
        self.look_at(obs)
        info = {name: x for name, x in info.items() if name.removeprefix("_") in self._read}
        asked, record = range(self.env.num_envs if info else 0), self._record if outcome else ()
        told = {lane: read(_own(info, lane), self.spaces, record) for lane in asked}
        reward, terminated, truncated = outcome or (0.0, False, False)  # of a reset
        return [leaf.of(obs) for leaf in self.spaces.leaves], reward, terminated, truncated, told

    def look_at(self, obs: Any) -> None:
        """Raise InputError for observations that no agent can learn from."""


def _own(info: Mapping[str, Any], lane: int) -> dict[str, Any]:
    """One lane's part of a joint info, which has an array for each name, and in _name which lanes gave it."""
    return {
        name: _own(x, lane) if isinstance(x, Mapping) else x[lane]
        for name, x in info.items()
        if f"_{name}" not in info or info[f"_{name}"][lane]
    }


class WorkerLane:
    """A lane in a process of its own, which ends when this one does, however it ends.

    Where possible, it is forked: it starts fast and shares this one's registrations. `hear` and `spaces` raise
    InputError with what the lane raised, or if its process has died.
    """

    def __init__(self, config: Config, make: MakeEnv | None, draws: Draws) -> None:
        method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
        if method is None:
            with naming(config, make):  # what cannot be sent to a worker
                cloudpickle.dumps(make)
        context: Any = multiprocessing.get_context(method)
        self._id, self.place = config.env, draws.place
        self._pipe, theirs = context.Pipe()
        given = theirs, config, CloudpickleWrapper(make), draws  # type: ignore[arg-type]
        self._worker = context.Process(target=work, args=given, daemon=True)
        self._worker.start()
        theirs.close()  # so that the pipe closes when the worker dies

    @cached_property
    def spaces(self) -> Spaces:
        """Those of the lane, once it has been made."""
        return cloudpickle.loads(self.hear(f"{self._id}: "))  # type: ignore[no-any-return]

    def ask(self, call: str, each: Sequence[Any]) -> None:
        try:
            self._pipe.send((call, each))
        except OSError as error:
            raise self._died(error) from error

    def hear(self, before: str = "") -> Any:
        try:
            well, answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise self._died(error, before) from error
        if not well:
            raise InputError(answer)
        return answer

    def _died(self, error: Exception, before: str = "") -> InputError:
        """What became of a worker whose pipe is closed."""
        self._worker.join(1.0)  # its pipe closes just before it exits
        code, reason = self._worker.exitcode, type(error).__name__
        if code is not None:
            reason = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return InputError(f"{before}the worker process of lane {self.place.start} has died ({reason})")

    def end(self) -> None:
        """Tell the worker to close its environment and exit, even in mid-step."""
        self._worker.terminate()
        self._deadline = time.monotonic() + PATIENCE

    def close(self) -> None:
        """Wait for the worker, once it was told to `end`; kill it if it does not close its environment in time."""
        self._worker.join(max(0.0, self._deadline - time.monotonic()))
        if self._worker.is_alive():
            self._worker.kill()
            self._worker.join()
        self._pipe.close()


def work(pipe: Connection, config: Config, make: CloudpickleWrapper, draws: Draws) -> None:
    """A worker: makes its lane, sends the spaces, and answers each call with (True, what came) or (False, an error).

    The parent handles Ctrl-C and a closed terminal, and sends SIGTERM to end the worker. A worker prints nothing; the
    parent reports what an environment raises.
    """
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open for the worker's lifetime
    for name in {"SIGINT", "SIGHUP"} & {*dir(signal)}:  # not every platform has both
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
                pipe.send((True, getattr(lane, call)(*given)))
    except EOFError:  # the parent is gone
        return
    except Exception as error:
        pipe.send((False, in_words(error)))


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
