"""EnvPool environments: all lanes of all seeds in one pool, stepped in C++. Weng et al. 2022, arXiv:2206.10558."""

import os
import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from tricks.config import Config
from tricks.core.env import MakeEnv
from tricks.core.extras import extra
from tricks.core.seeds import stream
from tricks.core.spaces import Spaces
from tricks.envs.gymnasium import GymnasiumEnv
from tricks.envs.lane import refuse_changes
from tricks.errors import InputError
from tricks.flags import meant


class EnvPoolEnv(GymnasiumEnv):
    """S seeds × N lanes of one EnvPool id, in one pool.

    Every lane has its own generator, and a seed that isn't playing is not stepped, so seeds don't affect each other.
    EnvPool's autoreset is NEXT_STEP. If an episode terminates exactly at its time limit, EnvPool reports it as
    truncated. EnvPool gives no action mask, so legal is True everywhere.

    MiniGrid's mission is text and is dropped from its Dict observations. Raises InputError if it differs between
    episodes, because then it matters.
    """

    def _open(self, config: Config, make: MakeEnv | None) -> Spaces:
        refuse_changes(config, "env_args")
        self._args, self._mission = config.env_kwargs, None
        self._fill()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*precision lowered by casting")  # bounds given as float64
            space, action = self._pool.observation_space, self._pool.action_space
        if isinstance(space, gym.spaces.Dict):
            space = gym.spaces.Dict([(name, part) for name, part in space.spaces.items() if name != "mission"])
        return Spaces(self.id, space, action, as_vector=config.as_vector)

    def _fill(self) -> None:
        """Make a pool with a seed for each lane.

        Raises InputError if EnvPool is not installed, does not know the id, or needs more than one player for it.
        """
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
