"""Gymnasium environments, in this process, in threads or in worker processes; and those of EnvPool."""

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.env import MakeEnv, Step
from tricks.core.extras import extra
from tricks.core.machine import find_device
from tricks.core.spaces import Spaces
from tricks.envs.lane import Draws, refuse_changes
from tricks.envs.stepping import Lane, VectorLanes, WorkerLane, naming
from tricks.errors import InputError, in_words, said
from tricks.flags import meant
from tricks.texts import recorded

IN_USE: WeakValueDictionary[int, gym.Env] = WeakValueDictionary()  # the objects that are lanes now, by their id


class PoolLanes(VectorLanes):
    """The lanes of one seed in one pool of EnvPool, stepped in C++. Weng et al. 2022, arXiv:2206.10558.

    Every lane has its own generator. EnvPool reports an episode that terminates exactly at its time limit as truncated,
    and gives no action masks. MiniGrid's mission is text and is dropped from its Dict observations. Raises InputError
    if that differs between episodes, because then it matters.
    """

    def __init__(self, config: Config, draws: Draws) -> None:
        refuse_changes(config, "env_args")
        envpool = extra("envpool", "envpool")
        if config.env not in (known := envpool.list_all_envs()):
            raise InputError(f"backend envpool has no {config.env!r}{meant(config.env, known)}")
        threads = -(-thread_count() // len(config.seed_list))  # all pools play at the same time
        seeds = draws.seeds.integers(2**31, size=config.lanes)  # now: a pool cannot be reseeded
        how = {"num_envs": config.lanes, "seed": seeds, "num_threads": threads}
        try:
            pool = envpool.make_gymnasium(config.env, **how, **config.env_kwargs)
        except Exception as error:  # a system library or an asset is missing, or an argument does not fit
            raise InputError(f"cannot make the environment {config.env!r}: {said(error)}") from error
        if (players := pool.config["max_num_players"]) > 1:
            raise InputError(f"{config.env} has {players} players; only one is supported")
        with warnings.catch_warnings():  # the pool keeps its spaces once it was asked
            warnings.filterwarnings("ignore", ".*precision lowered by casting")  # bounds given as float64
            super().__init__(config, pool, draws)
        draws.first_seed()
        if isinstance(space := self.spaces.observation, gym.spaces.Dict):
            rest = gym.spaces.Dict([(name, part) for name, part in space.spaces.items() if name != "mission"])
            self.spaces = replace(self.spaces, observation=rest)
        self._mission: Any = None

    def look_at(self, obs: Any) -> None:
        if isinstance(obs, dict) and "mission" in obs:
            self._mission = obs["mission"][0] if self._mission is None else self._mission
            if (obs["mission"] != self._mission).any():
                raise InputError("the mission differs between episodes; text observations are not supported")


def thread_count() -> int:
    """OMP_NUM_THREADS, which workers that share a machine set to 1; without it, one per core open to this process."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(given) if given.isdecimal() and int(given) else cores or 1


Lanes = Lane | VectorLanes | WorkerLane


def make_lanes(config: Config, make: MakeEnv | None, draws: Sequence[Draws]) -> Iterable[Lanes]:
    """The lanes of one seed, each with its own draws, which `make` makes if it is given; made as they are asked for.

    An environment with a vector version of its own is used as that, unless the config changes it.
    """
    if config.backend == "envpool":
        return [PoolLanes(config, draws[0])]
    if config.backend == "processes":
        return map(partial(WorkerLane, config, make), draws)
    with naming(config, make):
        own = VectorLanes.of(config, make, draws[0])
    return [own] if own else map(partial(Lane, config, make), draws)


class GymnasiumEnv:
    """S seeds × N lanes of one Gymnasium id, or of the environments that `make` returns.

    Legal actions are read from `info["action_mask"]`, where `Contract` puts those that are given in another way, lives
    from `info["lives"]`, and the number of tasks, if there are several, from `metadata["tasks"]`. If the environment
    raises or a worker process dies, everything is closed and InputError raised.
    """

    resumable = False

    def __init__(self, config: Config, purpose: str = "env", make: MakeEnv | None = None) -> None:
        self.device = find_device(config.device)  # of the agents; environments are on the CPU
        self.id, self.lanes, self.seeds, self.purpose = config.env, config.lanes, config.seed_list, purpose
        self._config, self._make, self._resumed = config, make, 0  # so often
        self.spaces = self._open()
        self.id = self.spaces.env  # of an environment without a name, its class's
        self._rows = (len(self.seeds), config.lanes)
        forms = [((*self._rows, *(leaf.space.shape or ())), leaf.space.dtype) for leaf in self.spaces.leaves]
        self._parts = [np.zeros(shape, dtype) for shape, dtype in forms]
        self._outcome = [np.zeros(self._rows), *np.zeros((2, *self._rows), bool)]
        self._width = self.spaces.actions if self.spaces.discrete else 1  # of a mask
        self._lives: Tensor | None = None  # as each lane reported them last; None if none has
        self._names = tuple(recorded(config.record))
        self._missing, self._ended = set(self._names), 0  # not found so far, in so many episodes
        self.reset()
        self.masks = any(name == "action_mask" for name, *_ in self.told)

    def _open(self) -> Spaces:
        """Make every lane, with random numbers of its own if the run is resumed; returns the spaces that all have."""
        self._lanes, self._claimed = list[tuple[int, Lanes]](), list[int]()  # each with the place of its seed
        try:
            for i, seed in enumerate(self.seeds):
                draws = [Draws(seed, self.purpose, self._resumed, lane) for lane in range(self.lanes)]
                for lanes in make_lanes(self._config, self._make, draws):
                    self._lanes.append((i, lanes))
            spaces = self._common()
            self._claim()
        except BaseException:
            self.close()
            raise
        return spaces

    def state_dict(self) -> dict[str, int]:
        return {"resumed": self._resumed}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Start new episodes from a new stream each time; the original one would repeat the run's first episodes."""
        self._resumed = state["resumed"] + 1
        self.close()
        self._open()
        self.reset()

    def reset(self) -> Step:
        self._call("reset", dict.fromkeys(range(len(self.seeds)), ()))
        obs, legal, lives, _ = self._seen()
        self.now = Step.first(obs, legal, lives).to(self.device)
        return self.now

    def step(self, action: Tensor, playing: Tensor) -> Step:
        """Step the playing seeds; the others don't move."""
        actions, playing, before = self.spaces.decode(action), playing.cpu(), self.now.over.cpu()
        self._call("step", {i: actions[i] for i in playing.nonzero()[:, 0].tolist()})
        score, terminated, truncated = (torch.from_numpy(column.copy()) for column in self._outcome)
        ended = torch.where(playing.unsqueeze(1), terminated | truncated, before)
        obs, legal, lives, record = self._seen()
        if record is not None:
            self._look_for_missing(record, int(ended[playing].sum()))
        step = Step(obs, legal, ended, ended, score, terminated, truncated, score, lives, record)
        self.now = step.to(self.device)
        return self.now

    def _seen(self) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Observations, legal actions, lives, and the numbers to record, [S, N, ...] each, after a call."""
        legal = np.ones((*self._rows, self._width), bool)  # in a lane that gives no mask, everything is
        lives = np.zeros(self._rows, np.int64) if self._lives is None else self._lives.numpy().copy()
        record = np.full((*self._rows, len(self._names)), np.nan)
        columns = {"action_mask": legal, "lives": lives, "record": record}
        for name, i, lane, x in self.told:
            columns[name][i, lane] = x
        if self._lives is not None or any(name == "lives" for name, *_ in self.told):
            self._lives = torch.from_numpy(lives)
        obs = self.spaces.joined([part.copy() for part in self._parts], self._rows)
        return obs, torch.from_numpy(legal), self._lives, torch.from_numpy(record) if self._names else None

    def _look_for_missing(self, record: Tensor, ended: int) -> None:
        """Say once which names no info has had. ended: how many episodes now have."""
        self._ended += ended
        self._missing = {name for name in self._missing if record[..., self._names.index(name)].isnan().all()}
        if self._missing and self._ended >= len(self.seeds) * self.lanes:
            what = f"no info has had {', '.join(sorted(self._missing))} in {self._ended} episodes"
            print(f"{self.id}: {what}", file=sys.stderr)
            self._missing = set()

    def _call(self, call: str, given: dict[int, Sequence[Any]]) -> None:
        """Call the lanes of some seeds, all at the same time, and write down what comes of it."""
        self.told = list[tuple[str, int, int, Any]]()  # what, by which seed and lane
        for column in self._outcome:
            column.fill(0)
        called = [(i, lanes) for i, lanes in self._lanes if i in given]
        try:
            for i, lanes in called:
                lanes.ask(call, given[i][lanes.place])
            for i, lanes in called:
                parts, *outcome, told = lanes.hear()
                self.told += [(name, i, k, x) for k, each in told.items() for name, x in each.items()]
                for column, came in zip([*self._parts, *self._outcome], [*parts, *outcome], strict=True):
                    column[i, lanes.place] = came
        except (Exception, SystemExit) as error:
            self.close()
            raise InputError(f"{self.id}: {in_words(error)} (seed {self.seeds[i]})") from error

    def close(self) -> None:
        """Close every environment. One that fails to close costs a line on stderr."""
        for _, lanes in self._lanes:
            if isinstance(lanes, WorkerLane):
                lanes.end()
        try:
            with ExitStack() as stack:
                for _, lanes in self._lanes:
                    stack.callback(lanes.close)
        except (Exception, SystemExit) as error:  # the training that it served may be finished
            print(f"{self.id}: close() failed, which changes no result: {in_words(error)}", file=sys.stderr)
        for key in self._claimed:
            IN_USE.pop(key, None)
        self._lanes, self._claimed = [], []

    def _claim(self) -> None:
        """Refuse objects that are another lane, here or in a training in progress (worker processes have copies)."""
        for env in (lane.env.unwrapped for _, lane in self._lanes if isinstance(lane, Lane)):
            if id(env) in IN_USE:
                raise InputError(
                    f"env= made the same {type(env).__name__} object for two lanes, which would step it in turn; it "
                    f"must make a new one at each call: env=lambda: {type(env).__name__}(...)"
                )
            IN_USE[id(env)] = env
            self._claimed.append(id(env))

    def _common(self) -> Spaces:
        """The spaces of all lanes. Raises InputError if they are not the same."""
        first, *others = [lanes.spaces for _, lanes in self._lanes]
        for (i, lane), other in zip(self._lanes[1:], others, strict=True):
            if (other.observation, other.action) != (first.observation, first.action):
                theirs, ours = (f"{spaces.observation} and {spaces.action}" for spaces in (other, first))
                different = f"lane {lane.place.start} of seed {self.seeds[i]} has {theirs}, and the first {ours}"
                raise InputError(f"{first.env}: all lanes must have the same spaces, but {different}")
        return first
