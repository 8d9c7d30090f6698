"""Gymnasium environments, in this process, in threads or in worker processes; and those of EnvPool."""

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

from tricks.config import Config
from tricks.core.env import MakeEnv, Step
from tricks.core.extras import extra
from tricks.core.seeds import stream
from tricks.core.spaces import Spaces
from tricks.envs.lane import IN_USE, Draws, refuse_changes
from tricks.envs.stepping import Lanes, Start, make_lanes
from tricks.errors import InputError, in_words
from tricks.flags import meant
from tricks.texts import recorded


class GymnasiumEnv:
    """S seeds × N lanes of one Gymnasium id, or of the environments that `make` returns.

    Legal actions are read from `info["action_mask"]`, where `Contract` puts those that are given in another way, lives
    from `info["lives"]`, and the number of tasks, if there are several, from `metadata["tasks"]`. If the environment
    raises or a worker process dies, everything is closed and InputError raised.
    """

    resumable = False

    def __init__(self, config: Config, purpose: str = "env", make: MakeEnv | None = None) -> None:
        self.id, self.lanes, self.seeds, self.purpose = config.env, config.lanes, config.seed_list, purpose
        self._resumed = 0  # number of resumptions
        self.spaces = self._open(config, make)
        self.id = self.spaces.env  # of an environment without a name, its class's
        self._rows = (len(self.seeds), config.lanes)
        forms = [((*self._rows, *(leaf.space.shape or ())), leaf.space.dtype) for leaf in self.spaces.leaves]
        self._parts = [np.zeros(shape, dtype) for shape, dtype in forms]
        self._outcome = [np.zeros(self._rows), *np.zeros((2, *self._rows), bool)]
        self._width = self.spaces.actions if self.spaces.discrete else 1  # of a mask
        self._lives: Tensor | None = None  # as each lane reported them last; None if none has
        self._names = tuple(recorded(config.record))
        self._missing, self._ended = set(self._names), 0  # not found so far, in so many episodes
        try:
            self._begin()
        except BaseException:
            self.close()
            raise
        self.masks = any(name == "action_mask" for name, *_ in self.told)

    def _open(self, config: Config, make: MakeEnv | None) -> Spaces:
        """Make every lane; returns the spaces that all have."""
        self._lanes, self._claimed = list[Lanes](), list[int]()
        try:
            for seed in self.seeds:
                self._lanes.append(make_lanes(config, make, self._draws(seed)))
            spaces = self._common([spaces for lanes in self._lanes for spaces in lanes.spaces])
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
        self._begin()

    def reset(self, starts: Sequence[Sequence[Start]] = ()) -> Step:
        self._call("reset", dict(enumerate(starts or [[Start()] * self.lanes] * len(self.seeds))))
        obs, legal, lives, _ = self._seen()
        self.now = Step.first(obs, legal, lives)
        return self.now

    def _begin(self) -> None:
        """Reset every lane with a seed of its own, and with draws of its own if the run is resumed."""
        index, starts = (self._resumed,) if self._resumed else (), []
        for seed in self.seeds:
            first = int(stream(seed, self.purpose, *index).integers(2**31))
            draws = self._draws(seed) if self._resumed else [None] * self.lanes
            starts.append([Start(first + j, own) for j, own in enumerate(draws)])
        self.reset(starts)

    def _draws(self, seed: int) -> list[Draws]:
        return [Draws(seed, self.purpose, self._resumed, lane) for lane in range(self.lanes)]

    def step(self, action: Tensor, playing: Tensor) -> Step:
        """Step the playing seeds; the others don't move."""
        actions = self.spaces.decode(action)
        seeds = playing.numpy()
        self._call("step", {i: actions[i] for i in np.flatnonzero(seeds).tolist()})
        score, terminated, truncated = (torch.from_numpy(column.copy()) for column in self._outcome)
        ended = torch.where(playing.unsqueeze(1), terminated | truncated, self.now.over)
        obs, legal, lives, record = self._seen()
        if record is not None and self.purpose == "env":
            self._look_for_missing(record, int(ended[playing].sum()))
        self.now = Step(obs, legal, ended, ended, score, terminated, truncated, score, lives, record)
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
        try:
            for i, each in given.items():
                self._lanes[i].ask(call, each)
            for i in given:
                parts, *outcome, told = self._lanes[i].hear()
                self.told += [(name, i, lane, x) for lane, each in enumerate(told) for name, x in each.items()]
                for column, came in zip([*self._parts, *self._outcome], [*parts, *outcome], strict=True):
                    column[i] = came
        except (Exception, SystemExit) as error:
            self.close()
            raise InputError(f"{self.id}: {in_words(error)} (seed {self.seeds[i]})") from error

    def close(self) -> None:
        """Close every environment. One that fails to close costs a line on stderr."""
        try:
            with ExitStack() as stack:
                for lanes in self._lanes:
                    stack.callback(lanes.close)
        except (Exception, SystemExit) as error:  # the training that it served may be finished
            print(f"{self.id}: close() failed, which changes no result: {in_words(error)}", file=sys.stderr)
        for key in self._claimed:
            IN_USE.pop(key, None)
        self._lanes, self._claimed = [], []

    def _claim(self) -> None:
        """Refuse objects that are another lane, here or in a training in progress (worker processes have copies)."""
        for env in (lane.env.unwrapped for lanes in self._lanes for lane in lanes.lanes):
            if id(env) in IN_USE:
                raise InputError(
                    f"env= made the same {type(env).__name__} object for two lanes, which would step it in turn; it "
                    f"must make a new one at each call: env=lambda: {type(env).__name__}(...)"
                )
            IN_USE[id(env)] = env
            self._claimed.append(id(env))

    def _common(self, each: Sequence[Spaces]) -> Spaces:
        """The spaces of all lanes. Raises InputError if they are not the same."""
        first = each[0]
        for k, other in enumerate(each):
            if (other.observation, other.action) != (first.observation, first.action):
                lane = f"lane {k % self.lanes} of seed {self.seeds[k // self.lanes]}"
                theirs, ours = (f"{spaces.observation} and {spaces.action}" for spaces in (other, first))
                said = f"all lanes must have the same spaces, but {lane} has {theirs}, and the first {ours}"
                raise InputError(f"{first.env}: {said}")
        return first


class EnvPoolEnv(GymnasiumEnv):
    """S seeds × N lanes of one EnvPool id, in one pool, stepped in C++. Weng et al. 2022, arXiv:2206.10558.

    Every lane has its own generator, and a seed that isn't playing is not stepped, so seeds don't affect each other.
    EnvPool's autoreset is NEXT_STEP. It reports an episode that terminates exactly at its time limit as truncated, and
    gives no action masks. MiniGrid's mission is text and is dropped from its Dict observations. Raises InputError if
    that differs between episodes, because then it matters.
    """

    def _open(self, config: Config, make: MakeEnv | None) -> Spaces:
        refuse_changes(config, "env_args")
        self._args, self._mission = config.env_kwargs, None
        self._fill()
        space, action = self._pool.observation_space, self._pool.action_space
        if isinstance(space, gym.spaces.Dict):
            space = gym.spaces.Dict([(name, part) for name, part in space.spaces.items() if name != "mission"])
        return Spaces(self.id, space, action, as_vector=config.as_vector)

    def _fill(self) -> None:
        """Make a pool with a seed for each lane."""
        envpool = extra("envpool", "envpool")
        if self.id not in (known := envpool.list_all_envs()):
            raise InputError(f"backend envpool has no {self.id!r}{meant(self.id, known)}")
        index, count = (self._resumed,) if self._resumed else (), len(self.seeds) * self.lanes
        streams = [stream(seed, self.purpose, *index) for seed in self.seeds]
        seeds = np.concatenate([rng.integers(2**31, size=self.lanes) for rng in streams])
        how = {"num_envs": count, "seed": seeds, "num_threads": thread_count()}
        try:
            self._pool = envpool.make_gymnasium(self.id, **how, **self._args)
        except Exception as error:  # a system library or an asset is missing, or an argument does not fit
            raise InputError(f"cannot make the environment {self.id!r}: {' '.join(str(error).split())}") from error
        if (players := self._pool.config["max_num_players"]) > 1:
            raise InputError(f"{self.id} has {players} players; only one is supported")
        with warnings.catch_warnings():  # the pool keeps its spaces once it was asked
            warnings.filterwarnings("ignore", ".*precision lowered by casting")  # bounds given as float64
            _ = self._pool.observation_space, self._pool.action_space

    def _begin(self) -> None:
        if self._resumed:  # a pool cannot be reseeded
            self.close()
            self._fill()
        self.reset()

    def _call(self, call: str, given: dict[int, Sequence[Any]]) -> None:
        seeds, shape = [*given], (len(given), self.lanes)
        ids = np.arange(len(self.seeds) * self.lanes, dtype=np.int32).reshape(-1, self.lanes)[seeds].ravel()
        stepping = call == "step"  # a reset has no outcome
        came = self._pool.step(np.concatenate([*given.values()]), ids) if stepping else self._pool.reset()
        obs, *outcome, info = came
        missions = obs.get("mission", np.zeros(1)) if isinstance(obs, dict) else np.zeros(1)
        self._mission = missions[0] if self._mission is None else self._mission
        if (missions != self._mission).any():
            raise InputError(f"{self.id}: the mission differs between episodes; text observations are not supported")
        for column in self._outcome:
            column.fill(0)
        columns = [*[leaf.of(obs) for leaf in self.spaces.leaves], *outcome]
        for whole, column in zip([*self._parts, *self._outcome], columns, strict=False):
            whole[seeds] = column.reshape(*shape, *whole.shape[2:])
        lives = info["lives"].reshape(shape) if "lives" in info else []  # of Atari
        self.told = [("lives", i, j, x) for i, row in zip(seeds, lives, strict=False) for j, x in enumerate(row)]

    def close(self) -> None:
        self._pool.close()
        del self._pool  # this ends its threads


def thread_count() -> int:
    """OMP_NUM_THREADS, which workers that share a machine set to 1; without it, one per core open to this process."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(given) if given.isdecimal() and int(given) else cores or 1
